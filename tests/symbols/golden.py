#!/usr/bin/env python3
"""What llvm-symbolizer says of a small file's code, for tests/unit/symbols_golden_test.c.

usage: golden.py FILE ARCH ORACLE-VERSION

Every address of every executable section is asked; only those where the answer changes are printed,
each as `--addresses --no-demangle --inlining` prints it. An address after the last, with the answer
"end", closes each section.
"""
import subprocess
import sys

from compare import sections

path, arch, version = sys.argv[1:]
for start, end in sorted(sections(path, arch, version)):
    oracle = [f"llvm-symbolizer-{version}", f"--obj={path}", "--inlining", "--no-demangle", "--addresses"]
    if arch != "x86":
        oracle.append(f"--default-arch={arch}")
    text = subprocess.run(oracle, input="".join(f"{a:#x}\n" for a in range(start, end)), capture_output=True,
                          text=True, check=True).stdout
    last = None
    for group in text.rstrip("\n").split("\n\n"):
        address, answer = group.split("\n", 1)
        if answer != last:
            print(group, end="\n\n")
        last = answer
    print(f"{end:#x}\nend\n")
