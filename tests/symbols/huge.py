#!/usr/bin/env python3
"""Writes a debug file of a given size: valid ELF with DWARF 5, of which a quarter does not compress.

usage: huge.py MEGABYTES OUT

Units are alike but for their addresses, names and file: each has types, functions with a call inlined into them,
and lines. Function N of the file is game_system_NNNNNNNN_update at BASE + N * FUNCTION_BYTES, in lines of
unit_UUUUUUUU.cpp. Prints: FUNCTIONS BASE FUNCTION_BYTES FUNCTIONS_OF_A_UNIT.
"""
import os
import struct
import sys
from array import array

BASE, FUNCTION_BYTES, FUNCTIONS, TYPES, MEMBERS = 0x10000, 64, 40, 60, 50
NAME = b"game_system_%08d_update\0"
NAME_BYTES = len(NAME % 0)
STRINGS = b"update_inlined\0struct_of_the_game\0member_of_a_struct\0int\0"
INLINED, STRUCT, MEMBER, INT = (STRINGS.index(s) for s in (b"update_inlined", b"struct_of", b"member_of", b"int\0"))
(STRX2, ADDRX2, DATA1, DATA2, DATA4, STRING, STRP, REF4, OFFSET) = (0x26, 0x2A, 0x0B, 0x05, 0x06, 0x08, 0x0E, 0x13, 0x17)


def abbreviations():
    out = bytearray()
    for code, tag, children, attributes in (
            (1, 0x11, 1, ((3, STRING), (0x1B, STRING), (0x72, OFFSET), (0x73, OFFSET), (0x10, OFFSET), (0x11, ADDRX2), (0x12, DATA4))),
            (2, 0x2E, 1, ((3, STRX2), (0x3A, DATA1), (0x3B, DATA2), (0x11, ADDRX2), (0x12, DATA4))),
            (3, 0x1D, 0, ((0x31, REF4), (0x11, ADDRX2), (0x12, DATA4), (0x58, DATA1), (0x59, DATA2))),
            (4, 0x2E, 0, ((3, STRP), (0x20, DATA1))),
            (5, 0x13, 1, ((3, STRP), (0x0B, DATA2))),
            (6, 0x0D, 0, ((3, STRP), (0x49, REF4), (0x3A, DATA1), (0x3B, DATA2), (0x38, DATA2))),
            (7, 0x24, 0, ((3, STRP), (0x0B, DATA1), (0x3E, DATA1)))):
        out += bytes((code, tag, children))
        for at, form in attributes:
            out += bytes((at, form))
        out += b"\0\0"
    return bytes(out + b"\0")


def info_unit():
    """The unit, and where its file's number and the offsets of its strings, addresses and lines stand in it."""
    u = bytearray(struct.pack("<IHBBI", 0, 5, 1, 8, 0) + b"\1unit_")
    number = len(u)
    u += b"00000000.cpp\0/game\0"
    bases = len(u)
    u += struct.pack("<IIIHI", 0, 0, 0, 0, FUNCTIONS * FUNCTION_BYTES)
    inlined = len(u)
    u += struct.pack("<BIB", 4, INLINED, 1)
    integer = len(u)
    u += struct.pack("<BIBB", 7, INT, 4, 5)
    for _ in range(TYPES):
        u += struct.pack("<BIH", 5, STRUCT, 4 * MEMBERS)
        for m in range(MEMBERS):
            u += struct.pack("<BIIBHH", 6, MEMBER, integer, 1, 10 + m, 4 * m)
        u += b"\0"
    for f in range(FUNCTIONS):
        u += struct.pack("<BHBHHI", 2, f, 1, 100 * f + 1, 2 * f, FUNCTION_BYTES)
        u += struct.pack("<BIHIBH", 3, inlined, 2 * f + 1, 16, 1, 100 * f + 5)
        u += b"\0"
    u += b"\0"
    struct.pack_into("<I", u, 0, len(u) - 4)
    return u, number, bases


def uleb(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes((n,)))


def sleb(n):
    out = bytearray()
    while not -64 <= n < 64:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes((n & 0x7F,)))


def line_unit():
    """Lines: 100 F + 1 where function F begins, 7 of inlined.h for 16 bytes from its 16th on, then 100 F + 9."""
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1))
    head += b"\1\1\x08\1/game\0" + b"\2\1\x08\2\x0b\3" + b"unit_"
    number = len(head)
    head += b"00000000.cpp\0\0" + b"unit_00000000.cpp\0\0" + b"inlined.h\0\0"
    second = number + len(b"00000000.cpp\0\0unit_")
    program = bytearray(b"\0\x09\2" + bytes(8))
    line = 1
    for f in range(FUNCTIONS):
        for file, to, bytes_of in ((1, 100 * f + 1, 16), (2, 7, 16), (1, 100 * f + 9, FUNCTION_BYTES - 32)):
            program += b"\4" + uleb(file) + b"\3" + sleb(to - line) + b"\1" + b"\2" + uleb(bytes_of)
            line = to
    program += b"\0\1\1"
    u = bytearray(struct.pack("<IHBBI", 0, 5, 8, 0, len(head))) + head + program
    struct.pack_into("<I", u, 0, len(u) - 4)
    return u, 12 + number, 12 + second, 12 + len(head) + 3


class Elf:
    def __init__(self, out):
        self.out = out
        self.sections = []
        out.write(bytes(64))

    def begin(self):
        self.out.write(bytes(-self.out.tell() % 8))
        return self.out.tell()

    def add(self, name, kind, at, size, flags=0, address=0, link=0, info=0, entry=0):
        self.sections.append((name, kind, flags, address, at, size, link, info, 8, entry))

    def end(self, code_bytes, build_id):
        out = self.out
        at = self.begin()
        out.write(struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id)
        self.add(b".note.gnu.build-id", 7, at, out.tell() - at, 2, 0x1000)
        note = (at, out.tell() - at)
        names = b"\0" + b"".join(s[0] + b"\0" for s in self.sections) + b".shstrtab\0"
        at = self.begin()
        out.write(names)
        self.add(b".shstrtab", 3, at, len(names))
        headers = self.begin()
        out.write(bytes(64))
        for name, *rest in self.sections:
            out.write(struct.pack("<IIQQQQIIQQ", names.index(b"\0" + name + b"\0") + 1, *rest))
        segments = self.begin()
        out.write(struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0, BASE + code_bytes, 0x1000))
        out.write(struct.pack("<IIQQQQQQ", 4, 4, note[0], 0x1000, 0x1000, note[1], note[1], 4))
        out.seek(0)
        out.write(struct.pack("<4sBBBBQHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 3, 62, 1, BASE, segments, headers, 0, 64, 56, 2,
                              64, len(self.sections) + 1, len(self.sections)))


def main():
    size, path = int(sys.argv[1]) * 1000000, sys.argv[2]
    info, info_number, bases = info_unit()
    lines, number, second, address = line_unit()
    of_unit = len(info) + len(lines) + FUNCTIONS * (2 * NAME_BYTES + 4 + 16 + 24) + 16
    units = max(1, size * 3 // 4 // of_unit)
    n = units * FUNCTIONS
    with open(path, "wb", buffering=1 << 20) as out:
        elf = Elf(out)
        elf.add(b".text", 8, 0, n * FUNCTION_BYTES, 6, BASE)
        abbrev = abbreviations()
        at = elf.begin()
        out.write(abbrev)
        elf.add(b".debug_abbrev", 1, at, len(abbrev))

        at = elf.begin()
        for u in range(units):
            info[info_number:info_number + 8] = b"%08d" % u
            struct.pack_into("<III", info, bases, 8 + u * (8 + 4 * FUNCTIONS), 8 + u * (8 + 16 * FUNCTIONS), u * len(lines))
            out.write(info)
        elf.add(b".debug_info", 1, at, out.tell() - at)

        at = elf.begin()
        for u in range(units):
            lines[number:number + 8] = lines[second:second + 8] = b"%08d" % u
            struct.pack_into("<Q", lines, address, BASE + u * FUNCTIONS * FUNCTION_BYTES)
            out.write(lines)
        elf.add(b".debug_line", 1, at, out.tell() - at)

        at = elf.begin()
        out.write(STRINGS)
        for f in range(n):
            out.write(NAME % f)
        elf.add(b".debug_str", 1, at, out.tell() - at)

        at = elf.begin()
        for u in range(units):
            first = len(STRINGS) + u * FUNCTIONS * NAME_BYTES
            out.write(struct.pack("<IHH", 4 + 4 * FUNCTIONS, 5, 0))
            out.write(array("I", range(first, first + FUNCTIONS * NAME_BYTES, NAME_BYTES)).tobytes())
        elf.add(b".debug_str_offsets", 1, at, out.tell() - at)

        at = elf.begin()
        for u in range(units):
            first = BASE + u * FUNCTIONS * FUNCTION_BYTES
            out.write(struct.pack("<IHBB", 4 + 16 * FUNCTIONS, 5, 8, 0))
            out.write(array("Q", [a for f in range(FUNCTIONS) for a in (first + f * FUNCTION_BYTES, first + f * FUNCTION_BYTES + 16)]).tobytes())
        elf.add(b".debug_addr", 1, at, out.tell() - at)

        at = elf.begin()
        out.write(b"\0")
        for f in range(n):
            out.write(NAME % f)
        strtab = len(elf.sections) + 1
        elf.add(b".strtab", 3, at, out.tell() - at)
        at = elf.begin()
        out.write(bytes(24))
        for f in range(n):
            out.write(struct.pack("<IBBHQQ", 1 + f * NAME_BYTES, 0x12, 0, 1, BASE + f * FUNCTION_BYTES, FUNCTION_BYTES))
        elf.add(b".symtab", 2, at, out.tell() - at, link=strtab, info=1, entry=24)

        at = elf.begin()
        noise = os.urandom(64 << 20)
        while out.tell() + 4096 + len(noise) < size:
            out.write(noise)
        out.write(noise[:max(0, size - out.tell() - 4096)])
        elf.add(b".game.assets", 1, at, out.tell() - at)
        elf.end(n * FUNCTION_BYTES, os.urandom(20))
    print(n, hex(BASE), FUNCTION_BYTES, FUNCTIONS)


if __name__ == "__main__":
    main()
