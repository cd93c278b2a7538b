#!/usr/bin/env python3
"""Rewrites a fat Mach-O with the 64-bit fat header, which llvm-lipo does not write.

usage: fat64.py IN OUT [ALIGNMENT [32]]     ALIGNMENT of slices in bytes; 32: keep the 32-bit header
"""
import struct
import sys

data = open(sys.argv[1], "rb").read()
align = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 14
wide = len(sys.argv) <= 4
magic, n = struct.unpack_from(">II", data)
assert magic == 0xCAFEBABE
head = struct.pack(">II", 0xCAFEBABF if wide else magic, n)
at = len(head) + n * (32 if wide else 20)
bodies = b""
for i in range(n):
    cpu, sub, offset, size, _ = struct.unpack_from(">IIIII", data, 8 + 20 * i)
    pad = -at % align
    at += pad
    head += struct.pack(">IIQQII", cpu, sub, at, size, align.bit_length() - 1, 0) if wide else \
        struct.pack(">IIIII", cpu, sub, at, size, align.bit_length() - 1)
    bodies += b"\0" * pad + data[offset:offset + size]
    at += size
open(sys.argv[2], "wb").write(head + bodies)
