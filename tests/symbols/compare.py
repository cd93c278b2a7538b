#!/usr/bin/env python3
"""Compares `framewatch symbols lookup` with llvm-symbolizer over random addresses of one file.

usage: compare.py FRAMEWATCH FILE ARCH ORACLE-VERSION COUNT SEED [--demangle] [--verbose N]

Prints one line: FILE ARCH addresses equal CLASS=count ...; exits 1 when a difference has no class.
Each class is explained in docs/symbols.md.
"""
import collections
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile


def sections(path, arch, version):
    """(start, end) of executable sections, from llvm-readobj."""
    fmt = subprocess.run([f"llvm-readobj-{version}", "--sections", path], capture_output=True, text=True).stdout
    if "Format: Mach-O" in fmt and fmt.count("Format:") > 1 or "Mach-O universal" in fmt:
        blocks = re.split(r"(?m)^File: ", fmt)
        want = {"arm64": "aarch64", "arm64e": "aarch64", "armv7": "arm", "x86_64": "x86_64"}[arch]
        fmt = next(b for b in blocks if f"Arch: {want}" in b)
    out = []
    for block in fmt.split("Section {")[1:]:
        address = re.search(r"Address: 0x([0-9A-Fa-f]+)", block)
        size = re.search(r"(?m)^\s*Size: (0x[0-9A-Fa-f]+|\d+)", block)
        if not address or not size:
            continue
        code = "SHF_EXECINSTR" in block or "PureInstructions" in block or "SomeInstructions" in block
        if code and int(size[1], 0):
            start = int(address[1], 16)
            out.append((start, start + int(size[1], 0)))
    return out


def answers(text):
    """Splits output into one list of (function, place) an address."""
    out = []
    for group in text.split("\n\n"):
        if group.strip() or group:
            lines = group.strip("\n").split("\n")
            out.append([tuple(lines[i:i + 2]) for i in range(0, len(lines), 2)])
    while out and out[-1] == [("",)]:
        out.pop()
    return out


def binutils(names):
    """What c++filt, which has our demangler, makes of each name."""
    names = sorted(names)
    text = subprocess.run(["c++filt", "-n", "-i", "--no-recurse-limit"], input="\n".join(names) + "\n", capture_output=True,
                          text=True, check=True).stdout
    return dict(zip(names, text.split("\n")))


RUST_LEGACY = re.compile(r"_ZN.*17h[0-9a-f]{16}E")


def same_name(ours, theirs, mangled, filtered):
    """The class of two demangled names' difference, "" if none, None if not a known one."""
    if ours == theirs:
        return ""
    if RUST_LEGACY.match(mangled):
        return "rust-legacy"
    if theirs == mangled or ours == mangled:
        return "one-demangler-only"
    return "demangler-writing" if ours == filtered[mangled] else None


def classify(ours, theirs, unsized, mangled, filtered):
    """The name of a known difference, or None. `mangled`: theirs before demangling."""
    if mangled and [f[1:] for f in ours] == [f[1:] for f in theirs]:
        names = {same_name(o[0], t[0], m[0], filtered) for o, t, m in zip(ours, theirs, mangled)} - {""}
        if None not in names:
            return "+".join(sorted(names))
    if ours == [("??", "??:0:0")] and len(theirs) == 1 and theirs[0][0] in unsized:
        return "unsized-symbol"
    return None


def unsized_symbols(path, version):
    """ELF symbols without a size: llvm-symbolizer lets them reach into the next section."""
    text = subprocess.run([f"llvm-readelf-{version}", "--symbols", "--wide", path], capture_output=True, text=True).stdout
    return {w[7] for w in (line.split() for line in text.splitlines()) if len(w) > 7 and w[2] == "0" and w[6] != "UND"}


def main():
    argv = [a for a in sys.argv[1:] if not a.startswith("--")]
    framewatch, path, arch, version, count, seed = argv[:6]
    demangle = "--demangle" in sys.argv
    rng = random.Random(f"{seed} {os.path.basename(path)} {arch}")
    secs = sections(path, arch, version)
    total = sum(e - s for s, e in secs)
    addresses = []
    for _ in range(int(count)):
        at = rng.randrange(total)
        for s, e in secs:
            if at < e - s:
                addresses.append(s + at)
                break
            at -= e - s
    stdin = "".join(f"{a:#x}\n" for a in addresses)
    with tempfile.TemporaryDirectory() as tmp:
        cache = os.path.join(tmp, "cache")
        subprocess.run([framewatch, "symbols", "index", path, "-o", cache, "--arch", arch, "--quiet"], check=True)
        ours_text = subprocess.run([framewatch, "symbols", "lookup", cache] + ([] if demangle else ["--no-demangle"]),
                                   input=stdin, capture_output=True, text=True, check=True).stdout
    oracle = [f"llvm-symbolizer-{version}", f"--obj={path}", "--inlining", "--demangle" if demangle else "--no-demangle"]
    if arch != "x86":
        oracle.append(f"--default-arch={arch}")
    theirs_text = subprocess.run(oracle, input=stdin, capture_output=True, text=True).stdout
    ours, theirs = answers(ours_text), answers(theirs_text)
    mangled = [None] * len(addresses)
    filtered = {}
    if demangle:
        oracle[-1 if arch == "x86" else -2] = "--no-demangle"
        mangled = answers(subprocess.run(oracle, input=stdin, capture_output=True, text=True).stdout)
        filtered = binutils({f[0] for frames in mangled for f in frames})
    assert len(ours) == len(theirs) == len(addresses), (len(ours), len(theirs), len(addresses))
    unsized = unsized_symbols(path, version)
    classes = collections.Counter()
    equal = 0
    shown = 0
    limit = int(sys.argv[sys.argv.index("--verbose") + 1]) if "--verbose" in sys.argv else 3
    bad = 0
    for a, o, t, m in zip(addresses, ours, theirs, mangled):
        if o == t:
            equal += 1
            continue
        c = classify(o, t, unsized, m, filtered)
        if c:
            classes[c] += 1
            continue
        bad += 1
        if shown < limit:
            shown += 1
            print(f"--- {path} {arch} {a:#x}", file=sys.stderr)
            for x, y in itertools.zip_longest(o, t):
                if x != y:
                    print(f"ours:   {x}\ntheirs: {y}", file=sys.stderr)
    print(os.path.basename(path), arch, len(addresses), f"equal={equal}",
          *(f"{k}={v}" for k, v in sorted(classes.items())), *([f"UNEXPLAINED={bad}"] if bad else []))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
