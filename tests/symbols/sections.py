#!/usr/bin/env python3
"""Packs the DWARF sections of an ELF into the input of tests/fuzz/dwarf_fuzz.c: sections.py ELF OUT."""
import pathlib
import subprocess
import sys
import tempfile

NAMES = ["debug_info", "debug_abbrev", "debug_line", "debug_str", "debug_line_str", "debug_str_offsets",
         "debug_addr", "debug_ranges", "debug_rnglists"]
out = b""
for number, name in enumerate(NAMES):
    with tempfile.TemporaryDirectory() as d:
        section = pathlib.Path(d) / "section"
        subprocess.run(["llvm-objcopy-19", f"--dump-section=.{name}={section}", sys.argv[1], d + "/out"],
                       stderr=subprocess.DEVNULL, check=False)
        body = section.read_bytes() if section.exists() else b""
    if body:
        out += bytes([number]) + len(body).to_bytes(3, "little") + body
pathlib.Path(sys.argv[2]).write_bytes(out)
