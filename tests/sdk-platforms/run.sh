#!/usr/bin/env bash
# The SDK compiled for systems that cannot run here: Android (arm64, x86_64, 32-bit arm) and Apple's
# (arm64 device, x86_64 simulator). Their headers are glibc's with own ones in front; what the SDK asks
# of the system's library is held against a list of what that has. Then shared libraries for arm64: exactly the public functions, 16 KB pages, sizes.
#   tests/sdk-platforms/run.sh WORK-FOLDER
# Needs clang, llvm-nm, binutils of aarch64, the C library's headers of aarch64 and armhf.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/sdk-platforms
work=${1:?usage: run.sh WORK-FOLDER}
limit=$((150 * 1024)) # bytes of a library, zstd not among them
rm -rf "$work"
mkdir -p "$work/include"
client-stub/amalgamate.py "$work"
cp client-stub/include/framewatch_gl.h "$work"
cp /usr/include/zstd.h /usr/include/zstd_errors.h "$work/include"
passed=0 failed=0
check() { # WHAT COMMAND…
    local what=$1
    shift
    if "$@" >"$work/check.out" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        printf 'failed: %s\n' "$what"
        head -c 4000 "$work/check.out"
    fi
}
public() { # HEADER: its functions
    sed -n 's/^FW_API .*[ *]\(fw_[a-z_0-9]*\)(.*/\1/p' "$1" | sort
}
compile() { # OUT-FOLDER COMPILER FLAG…
    local out=$1
    shift
    mkdir -p "$out"
    "$@" -I"$work" -isystem "$work/include" -std=gnu11 -DFW_NO_CURL -E -P "$work/framewatch.c" \
        -o "$out/framewatch.i" || return
    "$@" -I"$work" -isystem "$work/include" -std=gnu11 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections \
        -Wall -Wextra -Wconversion -Werror -DFW_NO_CURL -c "$work/framewatch.c" -o "$out/framewatch.o" || return
    for f in client-stub/gl/*.c; do
        "$@" -Iclient-stub -Iclient-stub/include -std=gnu11 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections \
            -Wall -Wextra -Wconversion -Werror -D_GNU_SOURCE -c "$f" -o "$out/gl_$(basename "$f" .c).o" || return
    done
}
android() { # TARGET HEADERS… -- FLAG…
    local target=$1 system=(-nostdlibinc -isystem "$here/android")
    shift
    while [ "$1" != -- ]; do
        system+=(-isystem "$1")
        shift
    done
    shift
    compile "$work/$target" clang --target="$target" "${system[@]}" "$@"
}
apple() { # TARGET HEADERS…
    local target=$1 system=(-nostdlibinc -isystem "$here/apple")
    shift
    for h in "$@"; do system+=(-isystem "$h"); done
    # Apple's clang reads __nonnull as a word of its own; to glibc it is a macro.
    compile "$work/$target" clang --target="$target" -U__nonnull "${system[@]}" -Os
}
only_known() { # OBJECT LIST: asks for nothing that the system or zstd lacks
    comm -23 <(llvm-nm -u "$1" | awk '{print $NF}' | sed "${3:-}" | grep -v '^ZSTD_' | sort -u) \
        <(grep -v '^#' "$2" | tr -s ' ' '\n' | sort -u) >"$work/unknown"
    cat "$work/unknown"
    [ ! -s "$work/unknown" ]
}
share() { # FOLDER
    aarch64-linux-gnu-ld -shared -z max-page-size=16384 --gc-sections --build-id=sha1 -soname libframewatch.so \
        "$1/framewatch.o" -o "$1/libframewatch.so" &&
        aarch64-linux-gnu-ld -shared -z max-page-size=16384 --gc-sections --build-id=sha1 -soname libframewatch_gl.so \
            "$1"/gl_*.o -o "$1/libframewatch_gl.so"
}
exactly() { # LIBRARY HEADER
    diff <(aarch64-linux-gnu-nm -D --defined-only "$1" | awk '{print $3}' | sort) <(public "$2")
}
aligned() { # LIBRARY: every segment that is loaded begins at a 16 KB page
    readelf -lW "$1" | awk '$1 == "LOAD" { n++; bad += $NF !~ /^0x[0-9a-f]*[48c]000$/ && $NF !~ /^0x[0-9a-f]+0000$/ }
        END { exit !n || bad }'
}
small() { # LIBRARY
    local n
    n=$(size "$1" | awk 'NR == 2 { print $1 + $2 }')
    printf '%s: %d bytes of code and data\n' "${1#"$work/"}" "$n"
    [ "$n" -le "$limit" ]
}

arm64=/usr/aarch64-linux-gnu/include
check 'Android arm64' android aarch64-linux-android24 $arm64 -- -Os
check 'Android x86_64' android x86_64-linux-android24 "/usr/include/$(gcc -print-multiarch)" /usr/include -- -Os
check 'Android arm' android armv7a-linux-androideabi24 /usr/arm-linux-gnueabihf/include -- -Os
for target in aarch64-linux-android24 x86_64-linux-android24 armv7a-linux-androideabi24; do
    check "$target: asks only for what Android has" only_known "$work/$target/framewatch.o" $here/android/libc-24.txt
done
check 'Apple arm64' apple arm64-apple-ios14 $arm64
check 'Apple simulator' apple x86_64-apple-ios14-simulator "/usr/include/$(gcc -print-multiarch)" /usr/include
for target in arm64-apple-ios14 x86_64-apple-ios14-simulator; do # its names begin with _
    check "$target: asks only for what Apple has" only_known "$work/$target/framewatch.o" \
        $here/apple/libsystem.txt 's/^_//'
done
for target in aarch64-linux-android24 armv7a-linux-androideabi24 arm64-apple-ios14; do
    check "$target: a network that the game does not tell is metered" grep -qE \
        '^const fw_network fw_platform_network = FW_NETWORK_UNKNOWN;' "$work/$target/framewatch.i"
done
check 'Apple simulator: says that it is one' grep -qE '^ *\{"fw\.simulator", .*, "1", ' \
    "$work/x86_64-apple-ios14-simulator/framewatch.i"
check 'Apple arm64: says that it is none' grep -qE '^ *\{"fw\.simulator", .*, "", ' \
    "$work/arm64-apple-ios14/framewatch.i"
for level in O2 Os; do
    folder=$work/linux-arm64-$level
    check "Linux arm64, -$level" compile "$folder" clang --target=aarch64-linux-gnu -nostdlibinc -isystem $arm64 \
        -$level
    check "shared libraries, -$level" share "$folder"
    for name in framewatch framewatch_gl; do
        check "-$level: lib$name.so shows the header's functions and nothing else" \
            exactly "$folder/lib$name.so" "client-stub/include/$name.h"
        check "-$level: lib$name.so lies on 16 KB pages" aligned "$folder/lib$name.so"
    done
    check "-$level: libframewatch.so takes at most 150 KB" small "$folder/libframewatch.so"
    cat "$work/check.out"
done
manifest() { # Apple's privacy manifest: a property list of its four parts, each collected kind whole
    python3 - client-stub/apple/PrivacyInfo.xcprivacy <<'EOF'
import plistlib, sys
d = plistlib.load(open(sys.argv[1], "rb"))
assert set(d) == {"NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes", "NSPrivacyAccessedAPITypes"}
assert d["NSPrivacyTracking"] is False and d["NSPrivacyTrackingDomains"] == []
kind = "NSPrivacyCollectedDataType"
for c in d["NSPrivacyCollectedDataTypes"]:
    assert set(c) == {kind, kind + "Linked", kind + "Tracking", kind + "Purposes"} and c[kind + "Purposes"]
    assert c[kind].startswith(kind) and c[kind + "Linked"] is False and c[kind + "Tracking"] is False
for a in d["NSPrivacyAccessedAPITypes"]:
    assert a["NSPrivacyAccessedAPIType"].startswith("NSPrivacyAccessedAPICategory") and a["NSPrivacyAccessedAPITypeReasons"]
assert len(d["NSPrivacyCollectedDataTypes"]) == 4 and len(d["NSPrivacyAccessedAPITypes"]) == 3
EOF
}
check "Apple: the privacy manifest" manifest
check 'Android: shared libraries' share "$work/aarch64-linux-android24"
check 'Android: the functions of the header' exactly "$work/aarch64-linux-android24/libframewatch.so" \
    client-stub/include/framewatch.h
check 'Android: 16 KB pages' aligned "$work/aarch64-linux-android24/libframewatch.so"
check 'Android, -Os: at most 150 KB' small "$work/aarch64-linux-android24/libframewatch.so"
cat "$work/check.out"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
