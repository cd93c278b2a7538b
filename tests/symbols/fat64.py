#!/usr/bin/env python3
"""Rewrites a fat Mach-O with the 64-bit fat header (llvm-lipo writes only the 32-bit one)."""
import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, n = struct.unpack_from(">II", data)
assert magic == 0xCAFEBABE
out = bytearray(struct.pack(">II", 0xCAFEBABF, n))
at = 1 << 14
bodies = []
for i in range(n):
    cpu, sub, offset, size, align = struct.unpack_from(">IIIII", data, 8 + 20 * i)
    out += struct.pack(">IIQQII", cpu, sub, at, size, 14, 0)
    bodies.append((at, data[offset:offset + size]))
    at = (at + size + (1 << 14) - 1) >> 14 << 14
for at, body in bodies:
    out += b"\0" * (at - len(out)) + body
open(sys.argv[2], "wb").write(out)
