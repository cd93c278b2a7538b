#!/usr/bin/env bash
# Installs the SDK and builds games against it: by CMake's package, by pkg-config, without libcurl.
#   tests/sdk-package/run.sh WORK-FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
work=${1:?usage: run.sh WORK-FOLDER}
mkdir -p "$work"
work=$(realpath "$work")
install() { # NAME CMAKE-OPTION…
    local name=$1
    shift
    cmake -S client-stub -B "$work/$name" -G Ninja -DFW_DEMO_GAME=OFF -DCMAKE_INSTALL_PREFIX="$work/$name-prefix" "$@" >/dev/null
    cmake --build "$work/$name" >/dev/null
    cmake --install "$work/$name" >/dev/null
}
install sdk
cmake -S tests/sdk-package -B "$work/game" -G Ninja -DCMAKE_PREFIX_PATH="$work/sdk-prefix" >/dev/null
cmake --build "$work/game" >/dev/null
(cd "$work" && game/game && game/game_cpp)
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/sdk-prefix" -name framewatch.pc)")
# shellcheck disable=SC2046
cc tests/sdk-package/game.c -o "$work/game-pc" $(pkg-config --cflags --libs framewatch)
(cd "$work" && ./game-pc)

install bare -DFW_CURL=OFF
PKG_CONFIG_PATH=$(dirname "$(find "$work/bare-prefix" -name framewatch.pc)")
# shellcheck disable=SC2046
cc tests/sdk-package/game.c -o "$work/game-bare" $(pkg-config --cflags --libs framewatch)
(cd "$work" && ./game-bare)
! ldd "$work/game-bare" | grep -q curl
