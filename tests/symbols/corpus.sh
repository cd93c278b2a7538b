#!/usr/bin/env bash
# Makes the seeds of tests/fuzz/corpus/{elf,macho,dwarf,symcache,demangle} anew from two small sources.
# Beside them tests/golden/symbols/*.txt: what llvm-symbolizer says of each.
#   tests/symbols/corpus.sh FRAMEWATCH
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
framewatch=${1:?usage: corpus.sh FRAMEWATCH}
corpus=$here/../fuzz/corpus
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
golden=$here/../golden/symbols
mkdir -p "$corpus"/{elf,macho,dwarf,symcache,demangle} "$golden"
cd "$tmp"
map=-fdebug-prefix-map=$tmp=/game
cat >seed.c <<'C'
static inline int twice(int x) { return x * 2 + 1; }
static int hidden(int x) { volatile int y = twice(x); return y; }
int seed(int x) { return hidden(x) + twice(x & 7); }
C
cat >seed.cpp <<'C'
namespace n { template <int N> struct T { static inline __attribute__((always_inline)) int f(int x) { return T<N - 1>::f(x) + N; } }; template <> struct T<0> { static int f(int x) { return x; } };
int g(volatile int *p) { auto l = [p](int y) { *p = y; return T<3>::f(*p + y); }; return l(*p) + l(3); } }
C
elf() { # NAME VERSION FLAGS...
    local name=$1 v=$2
    shift 2
    "clang-$v" "$@" "$map" -O2 -ffreestanding -fPIC -c seed.c -o a.o
    "clang++-$v" "$@" "$map" -O2 -ffreestanding -fPIC -c seed.cpp -o b.o
    "ld.lld-$v" -shared --build-id=sha1 --gc-sections a.o b.o -o "$name"
    cp "$name" "$corpus/elf/$name"
}
elf x86_64-dwarf4 14 --target=x86_64-linux-android21 -gdwarf-4
elf arm64-dwarf5 19 --target=aarch64-linux-android21 -gdwarf-5
elf armv7-dwarf4 14 --target=armv7a-linux-androideabi21 -gdwarf-4 -ffunction-sections
elf x86-dwarf2 14 --target=i686-linux-android21 -gdwarf-2
elf dwarf64 19 --target=x86_64-linux-android21 -gdwarf-5 -gdwarf64
gcc "$map" -O2 -gdwarf-5 -ffreestanding -fPIC -shared -nostdlib -Wl,-z,noseparate-code -Wl,--build-id=sha1 seed.c -o gcc-dwarf5 && cp gcc-dwarf5 "$corpus/elf/"
objcopy --compress-debug-sections=zlib gcc-dwarf5 "$corpus/elf/zlib"
objcopy --compress-debug-sections=zlib-gnu gcc-dwarf5 "$corpus/elf/zlib-gnu"
llvm-objcopy-19 --compress-debug-sections=zstd gcc-dwarf5 "$corpus/elf/zstd"
strip -g -o symtab-only gcc-dwarf5 && cp symtab-only "$corpus/elf/"
objcopy --only-keep-debug gcc-dwarf5 mini && strip -g mini && xz -k -c mini >mini.xz
strip -o stripped gcc-dwarf5 && objcopy --add-section .gnu_debugdata=mini.xz stripped "$corpus/elf/debugdata"

dsym() { # NAME VERSION ARCH TARGET FLAGS...
    local name=$1 v=$2 arch=$3 target=$4
    shift 4
    "clang-$v" "--target=$target" "$@" "$map" -O2 -ffreestanding -fno-stack-protector -c seed.c -o m.o
    "ld64.lld-$v" -arch "$arch" -platform_version ios 14.0 14.0 -dylib -undefined dynamic_lookup -install_name @rpath/l m.o -o "$name.dylib"
    "dsymutil-$v" "$name.dylib" -o "$name.dSYM" 2>/dev/null
    cp "$name.dSYM/Contents/Resources/DWARF/$name.dylib" "$name"
    cp "$name" "$corpus/macho/$name"
}
dsym macho-arm64-dwarf4 14 arm64 arm64-apple-ios14.0 -gdwarf-4
dsym macho-arm64-dwarf5 19 arm64 arm64-apple-ios14.0 -gdwarf-5
dsym macho-armv7-dwarf2 14 armv7 armv7-apple-ios9.0 -gdwarf-2
llvm-lipo-14 -create macho-arm64-dwarf4 macho-armv7-dwarf2 -output fat
"$here/fat64.py" fat fat64 1
"$here/fat64.py" fat fat32 1 32
cp fat64 fat32 "$corpus/macho/"

for f in x86_64-dwarf4 arm64-dwarf5 gcc-dwarf5 x86-dwarf2 dwarf64; do
    "$here/sections.py" "$f" "$corpus/dwarf/$f"
    "$framewatch" symbols index "$f" -o "$corpus/symcache/$f" --quiet
done
n=0
for name in _ZN4game5DepthILi12EE3runEi _ZZN4game5WorldC4EvENKUliE_clEi.isra.0 _RNvCs1_4game4main \
    _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE _RINvNtC3std3mem8align_ofjE '_RNvCu3foo_1a' \
    '_$s4game5frameyS2iF' __ZN1a1bEv _ZNSt6vectorIiSaIiEE9push_backERKi; do
    n=$((n + 1))
    printf %s "$name" >"$corpus/demangle/$n"
done
# The golden files: one more source, and every address asked.
golden() { # NAME ARCH ORACLE-VERSION
    PYTHONDONTWRITEBYTECODE=1 "$here/golden.py" "$golden/$1" "$2" "$3" >"$golden/$1.$2.txt"
}
corpus=$tmp
mkdir -p elf macho
cp "$here/src/plain.c" seed.c
elf elf-x86_64-dwarf4 14 --target=x86_64-linux-android21 -gdwarf-4
elf elf-arm64-dwarf5 19 --target=aarch64-linux-android21 -gdwarf-5
elf elf-armv7-dwarf4 14 --target=armv7a-linux-androideabi21 -gdwarf-4 -ffunction-sections
elf elf-x86-dwarf2 14 --target=i686-linux-android21 -gdwarf-2
elf elf-dwarf64 19 --target=x86_64-linux-android21 -gdwarf-5 -gdwarf64
for v in 2 3 4 5; do
    gcc "$map" -O2 -gdwarf-$v -ffreestanding -fPIC -shared -nostdlib -Wl,-z,noseparate-code -Wl,--build-id=sha1 seed.c -o elf/elf-gcc-dwarf$v
done
strip -g -o elf/elf-symtab-only elf/elf-gcc-dwarf5
objcopy --only-keep-debug elf/elf-gcc-dwarf5 mini && strip -g mini && xz -c mini >mini.xz
strip -o stripped elf/elf-gcc-dwarf5 && objcopy --add-section .gnu_debugdata=mini.xz stripped elf/elf-debugdata
dsym macho-arm64-dwarf2 14 arm64 arm64-apple-ios14.0 -gdwarf-2
dsym macho-arm64-dwarf5 19 arm64 arm64-apple-ios14.0 -gdwarf-5
dsym macho-x86_64-dwarf4 14 x86_64 x86_64-apple-ios14.0 -gdwarf-4
cp "$here/src/other.c" "$here/src/shared.h" .
mv other.c seed.c
dsym macho-armv7-dwarf4 14 armv7 armv7-apple-ios9.0 -gdwarf-4
llvm-lipo-14 -create macho-arm64-dwarf2 macho-armv7-dwarf4 -output fat
"$here/fat64.py" fat macho/macho-fat64 1
cp elf/elf-* macho/macho-* "$golden"
for f in x86_64-dwarf4:x86_64:14 arm64-dwarf5:arm64:19 armv7-dwarf4:armv7:14 x86-dwarf2:x86:14 dwarf64:x86_64:19 \
    gcc-dwarf2:x86_64:14 gcc-dwarf3:x86_64:14 gcc-dwarf4:x86_64:14 gcc-dwarf5:x86_64:19 symtab-only:x86_64:14; do
    IFS=: read -r name arch v <<<"$f"
    golden "elf-$name" "$arch" "$v"
done
cp "$golden/elf-symtab-only.x86_64.txt" "$golden/elf-debugdata.x86_64.txt" # the same symbols, packed
golden macho-arm64-dwarf2 arm64 14
golden macho-arm64-dwarf5 arm64 19
golden macho-x86_64-dwarf4 x86_64 14
golden macho-armv7-dwarf4 armv7 14
golden macho-fat64 arm64 19
golden macho-fat64 armv7 19
find "$golden" -size +19k -print
find "$here"/../fuzz/corpus/{elf,macho,dwarf,symcache} -size +19k -print
