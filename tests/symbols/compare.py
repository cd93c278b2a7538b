#!/usr/bin/env python3
"""Compares `framewatch symbols lookup` with llvm-symbolizer over random addresses of files.

usage: compare.py FRAMEWATCH LIST COUNT SEED [--verbose N]

LIST has a line a file: FILE ARCH ORACLE-VERSION (see build.sh), COUNT addresses are taken of each. All are compared with
names as they are stored, a tenth again with names for people. Prints a line a file, FILE ARCH addresses equal CLASS=count ...,
then the sums and "N passed, N failed" by files; exits 1 when a difference has no class. Each class is explained in
docs/symbols.md.
"""
import collections
import concurrent.futures
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


class Image:
    """One architecture of one file: its addresses, and both programs' answers about them."""

    def __init__(self, framewatch, path, arch, version, count, seed):
        self.framewatch, self.path, self.arch, self.version = framewatch, path, arch, version
        rng = random.Random(f"{seed} {os.path.basename(path)} {arch}")
        secs = sections(path, arch, version)
        total = sum(e - s for s, e in secs)
        self.addresses = []
        for _ in range(count):
            at = rng.randrange(total)
            for s, e in secs:
                if at < e - s:
                    self.addresses.append(s + at)
                    break
                at -= e - s

    def ours(self, cache, n, demangle):
        return self.ask([self.framewatch, "symbols", "lookup", cache] + ([] if demangle else ["--no-demangle"]), n)

    def theirs(self, n, demangle):
        command = [f"llvm-symbolizer-{self.version}", f"--obj={self.path}", "--inlining",
                   "--demangle" if demangle else "--no-demangle"]
        return self.ask(command + ([] if self.arch == "x86" else [f"--default-arch={self.arch}"]), n)

    def ask(self, command, n):
        stdin = "".join(f"{a:#x}\n" for a in self.addresses[:n])
        out = answers(subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout)
        assert len(out) == n, (command, len(out), n)
        return out

    def compare(self, ours, theirs, mangled, verbose):
        """(counts by class, lines about the first differences without one). `mangled`: theirs before demangling, or None."""
        counts, said = collections.Counter(equal=0), []
        unsized = filtered = None
        for a, o, t, m in zip(self.addresses, ours, theirs, mangled or itertools.repeat(None)):
            if o == t:
                counts["equal"] += 1
                continue
            if unsized is None:
                unsized = unsized_symbols(self.path, self.version)
                filtered = binutils({f[0] for frames in mangled for f in frames}) if mangled else {}
            c = classify(o, t, unsized, m, filtered) or "UNEXPLAINED"
            counts[c] += 1
            if c == "UNEXPLAINED" and counts[c] <= verbose:
                said.append(f"--- {self.path} {self.arch} {a:#x}")
                said += [f"ours:   {x}\ntheirs: {y}" for x, y in itertools.zip_longest(o, t) if x != y]
        return counts, said


def one(framewatch, path, arch, version, count, seed, verbose):
    """(counts of stored names, counts of names for people, text)"""
    try:
        image = Image(framewatch, path, arch, version, count, seed)
        with tempfile.TemporaryDirectory() as tmp:
            cache = os.path.join(tmp, "cache")
            subprocess.run([framewatch, "symbols", "index", path, "-o", cache, "--arch", arch, "--quiet"], check=True)
            few = max(1, count // 10)
            ours, ours_shown = image.ours(cache, count, False), image.ours(cache, few, True)
        theirs = image.theirs(count, False)
        stored, said = image.compare(ours, theirs, None, verbose)
        shown, more = image.compare(ours_shown, image.theirs(few, True), theirs, verbose)
    except (subprocess.CalledProcessError, OSError, AssertionError, StopIteration, ValueError) as e:
        stored, shown, said, more = collections.Counter(UNEXPLAINED=1), collections.Counter(), [], [f"--- {path} {arch}: {e!r}"]
    words = [os.path.basename(path), arch, str(sum(stored.values())), *sums(stored), "| for people", str(sum(shown.values())), *sums(shown)]
    return stored, shown, "\n".join([" ".join(words), *said, *more])


def sums(counts):
    return [f"{k}={v}" for k, v in sorted(counts.items(), key=lambda kv: (kv[0] != "equal", kv[0]))]


def main():
    argv = [a for a in sys.argv[1:] if not a.startswith("--")]
    framewatch, listed, count, seed = argv[:4]
    verbose = int(sys.argv[sys.argv.index("--verbose") + 1]) if "--verbose" in sys.argv else 3
    with open(listed) as f:
        files = [line.split() for line in f]
    folder = os.path.dirname(os.path.abspath(listed))
    all_stored, all_shown, failed = collections.Counter(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for stored, shown, text in pool.map(
                lambda f: one(framewatch, os.path.join(folder, f[0]), f[1], f[2], int(count), seed, verbose), files):
            print(text, flush=True)
            all_stored += stored
            all_shown += shown
            failed += 1 if stored["UNEXPLAINED"] or shown["UNEXPLAINED"] else 0
    print(f"names as they are stored: {sum(all_stored.values())} addresses of {len(files)} files:", *sums(all_stored))
    print(f"names for people: {sum(all_shown.values())} addresses:", *sums(all_shown))
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
