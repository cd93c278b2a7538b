#!/usr/bin/env bash
# Builds the debug files that differential.sh compares over.
#   tests/symbols/build.sh OUT [DEPTH]
# DEPTH: of the deepest calls inlined in inline.cpp, 12; each more doubles its compilers' time, up to 8 it has fewer types.
# Each line of OUT/list is: FILE ARCH ORACLE-VERSION, where ORACLE-VERSION is that of the
# llvm-symbolizer that reads it (14's reads DWARF 5 Mach-O wrongly). A recipe whose tools are not
# installed is left out and said.
set -euo pipefail
src=$(cd "$(dirname "$0")/src" && pwd)
out=${1:?usage: build.sh OUT [DEPTH]}
deepest=${2:-12}
mkdir -p "$out"
cd "$out"
: >list
: >skipped

have() { command -v "$1" >/dev/null 2>&1; }
want() { # NAME TOOL...: whether all tools are there
    local name=$1 t
    shift
    for t; do
        have "$t" || { echo "$name: no $t" | tee -a skipped >&2; return 1; }
    done
}
listed() { # FILE ARCH ORACLE-VERSION
    ! want "$1 $2" "llvm-symbolizer-$3" "llvm-readobj-$3" || echo "$1 $2 $3" >>list
}

# ELF: compilers, versions, optimisation, layouts.
elf_cpp() { # NAME ORACLE COMPILER FLAGS...
    local name=$1 oracle=$2 cxx=$3
    shift 3
    want "$name" "$cxx" || return 0
    have "llvm-symbolizer-$oracle" || { listed "$name" x86_64 "$oracle"; return 0; } # do not compile for nothing
    if [ ! -e "$name" ]; then # as many at once as there are cores; one that fails is missing where it is compared
        [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n || true
        "$cxx" -std=c++17 "-DDEEPEST=$deepest" "$@" "$src/inline.cpp" -o "$name" -pie -Wl,--build-id=sha1 &
    fi
    listed "$name" x86_64 "$oracle"
}
elf_cpp gcc-dwarf2 14 g++ -O2 -gdwarf-2 -gstrict-dwarf
elf_cpp gcc-dwarf3 14 g++ -O1 -gdwarf-3
elf_cpp gcc-dwarf4 14 g++ -O2 -gdwarf-4
elf_cpp gcc-dwarf5 19 g++ -O2 -gdwarf-5
elf_cpp gcc-dwarf5-O3-sections 19 g++ -O3 -gdwarf-5 -ffunction-sections -Wl,--gc-sections
elf_cpp gcc-O0 19 g++ -O0 -g
elf_cpp clang14-dwarf4 14 clang++-14 -O2 -gdwarf-4
elf_cpp clang14-dwarf5 14 clang++-14 -O2 -gdwarf-5
elf_cpp clang19-dwarf5 19 clang++-19 -O3 -gdwarf-5
elf_cpp clang19-dwarf5-64 19 clang++-19 -O2 -gdwarf-5 -gdwarf64
elf_cpp clang14-gc 14 clang++-14 -O2 -gdwarf-4 -ffunction-sections -fuse-ld=lld-14 -Wl,--gc-sections -Wl,--icf=all
elf_cpp clang19-lto 19 clang++-19 -O2 -gdwarf-5 -flto -fuse-ld=lld-19
elf_cpp gcc-lto 19 g++ -O2 -gdwarf-5 -flto
elf_cpp clang14-lines-only 14 clang++-14 -O2 -gline-tables-only
elf_cpp gcc-exported 14 g++ -O2 -gdwarf-4 -rdynamic
wait

derived() { # NAME FROM ORACLE COMMAND...: an ELF made of another
    local name=$1 from=$2 oracle=$3
    shift 3
    [ -e "$from" ] || return 0
    want "$name" "$1" || return 0
    [ -e "$name" ] || "$@"
    listed "$name" x86_64 "$oracle"
}
derived zlib gcc-dwarf5 19 objcopy --compress-debug-sections=zlib gcc-dwarf5 zlib
derived zlib-gnu gcc-dwarf4 14 objcopy --compress-debug-sections=zlib-gnu gcc-dwarf4 zlib-gnu
derived zstd clang19-dwarf5 19 llvm-objcopy-19 --compress-debug-sections=zstd clang19-dwarf5 zstd
derived symtab-only gcc-dwarf4 14 objcopy --strip-debug gcc-dwarf4 symtab-only
derived dynsym-only gcc-exported 14 strip -o dynsym-only gcc-exported
derived debug-half gcc-dwarf5 19 objcopy --only-keep-debug gcc-dwarf5 debug-half

# Objects of the freestanding sources, into NAME.*.o; their names in `objects`.
freestanding() { # NAME VERSION SOURCES FLAGS...
    local name=$1 v=$2 sources=$3 f
    shift 3
    objects=()
    for f in $sources; do
        case $f in
        *.cpp) "clang++-$v" -std=c++17 -nostdinc++ -fno-exceptions -fno-rtti "$@" -O2 -ffreestanding -fno-stack-protector -c "$src/$f" -o "$name.$f.o" ;;
        *) "clang-$v" "$@" -O2 -ffreestanding -fno-stack-protector -c "$src/$f" -o "$name.$f.o" ;;
        esac
        objects+=("$name.$f.o")
    done
}

# Android's architectures; nothing of a sysroot is needed.
android() { # NAME ARCH ORACLE TRIPLE FLAGS...
    local name=$1 arch=$2 v=$3 triple=$4
    shift 4
    want "$name" clang-$v clang++-$v ld.lld-$v || return 0
    if [ ! -e "$name" ]; then
        freestanding "$name" "$v" "plain.c other.c many.c deep.cpp" "--target=$triple" -fPIC "$@"
        "ld.lld-$v" -shared --build-id=sha1 "${objects[@]}" -o "$name"
    fi
    listed "$name" "$arch" "$v"
}
android android-armv7-dwarf4 armv7 14 armv7a-linux-androideabi21 -gdwarf-4 -mthumb
android android-armv7-arm-dwarf5 armv7 19 armv7a-linux-androideabi21 -gdwarf-5 -marm
android android-arm64-dwarf4 arm64 14 aarch64-linux-android21 -gdwarf-4
android android-arm64-dwarf5 arm64 19 aarch64-linux-android21 -gdwarf-5 -ffunction-sections
android android-x86-dwarf4 x86 14 i686-linux-android21 -gdwarf-4

# dSYMs. `dwarf` may name a version for each source: dsymutil then shares one abbreviation table
# among units of several versions.
dsym() { # NAME ARCH TOOLS TARGET SOURCES DWARF-VERSIONS
    local name=$1 arch=$2 v=$3 target=$4 sources=$5 dwarf=$6 f system release versions all=() i=0
    want "$name" clang-$v clang++-$v ld64.lld-$v dsymutil-$v || return 0
    system=$(sed -E 's/.*-apple-([a-z]*).*/\1/; s/macosx/macos/' <<<"$target")
    release=$(sed -E 's/.*[a-z]([0-9.]+)$/\1/' <<<"$target")
    if [ ! -e "$name.dSYM" ]; then
        read -ra versions <<<"$dwarf"
        for f in $sources; do
            freestanding "$name" "$v" "$f" "--target=$target" "-gdwarf-${versions[i % ${#versions[@]}]}"
            all+=("${objects[@]}")
            i=$((i + 1))
        done
        "ld64.lld-$v" -arch "$arch" -platform_version "$system" "$release" "$release" -dylib -undefined dynamic_lookup \
            -install_name "@rpath/$name.dylib" "${all[@]}" -o "$name.dylib" || { echo "$name: does not link" | tee -a skipped >&2; return 0; }
        "dsymutil-$v" "$name.dylib" -o "$name.dSYM" 2>/dev/null
    fi
    cp -f "$name.dSYM/Contents/Resources/DWARF/$name.dylib" "$name.dwarf"
    listed "$name.dwarf" "$arch" "$v"
}
all="plain.c other.c many.c deep.cpp"
dsym ios-arm64-dwarf4 arm64 14 arm64-apple-ios14.0 "$all" 4
dsym ios-arm64-dwarf2 arm64 14 arm64-apple-ios14.0 "$all" 2
dsym ios-arm64-mixed arm64 14 arm64-apple-ios14.0 "$all" "2 4 3"
dsym ios-armv7-dwarf4 armv7 14 armv7-apple-ios9.0 "other.c many.c" 4 # lld cannot link armv7 code that uses data
dsym ios-armv7-mixed armv7 14 armv7-apple-ios9.0 "other.c many.c" "2 4"
dsym mac-x86_64-dwarf4 x86_64 14 x86_64-apple-macosx11.0 "$all" 4
dsym ios-arm64-dwarf5 arm64 19 arm64-apple-ios14.0 "$all" 5
dsym mac-x86_64-dwarf5 x86_64 19 x86_64-apple-macosx11.0 "$all" 5
# lld and dsymutil write no arm64e; its code differs, its format does not but for the header's third word.
if [ -e ios-arm64-dwarf4.dwarf ]; then
    cp -f ios-arm64-dwarf4.dwarf ios-arm64e.dwarf
    printf '\002\000\000\200' | dd of=ios-arm64e.dwarf bs=1 seek=8 conv=notrunc status=none
    listed ios-arm64e.dwarf arm64e 14
fi
[ ! -e ios-arm64-dwarf4.dylib ] || listed ios-arm64-dwarf4.dylib arm64 14 # symbol tables alone
[ ! -e mac-x86_64-dwarf5.dylib ] || listed mac-x86_64-dwarf5.dylib x86_64 19

fat() { # NAME FLAG FILE ARCH FILE ARCH ...
    local name=$1 flag=$2 files=() i
    shift 2
    want "$name" llvm-lipo-14 || return 0
    for ((i = 1; i <= $#; i += 2)); do
        [ -e "${!i}" ] || return 0
        files+=("${!i}")
    done
    [ -e "$name" ] || llvm-lipo-14 -create $flag "${files[@]}" -output "$name"
    for ((i = 2; i <= $#; i += 2)); do
        listed "$name" "${!i}" 19
    done
}
fat fat "" ios-arm64-dwarf4.dwarf arm64 ios-armv7-dwarf4.dwarf armv7 mac-x86_64-dwarf4.dwarf x86_64
fat fat-dwarf5 "" ios-arm64-dwarf5.dwarf arm64 mac-x86_64-dwarf5.dwarf x86_64
[ -e fat ] && { [ -e fat64 ] || python3 "$src/../fat64.py" fat fat64; listed fat64 arm64 19; listed fat64 armv7 19; }

# Rust, legacy and v0 names.
rust() { # NAME FLAGS...
    local name=$1
    shift
    want "$name" rustc || return 0
    [ -e "$name" ] || rustc -O -g "$@" "$src/game.rs" -o "$name"
    listed "$name" x86_64 14
}
rust rust-legacy
rust rust-v0 -C symbol-mangling-version=v0
