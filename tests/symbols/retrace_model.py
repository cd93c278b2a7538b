#!/usr/bin/env python3
"""Retrace against a second implementation: retrace_model.py TOOL [FIRST_SEED] [LAST_SEED].

The model below follows R8's rules over plain lists (no index, no search, no sharing of names), for mappings of
random methods whose names, line ranges and signatures collide often. For each mapping every frame that can
matter is retraced by both, with and without --verbose; any difference fails. Outlines, rules for exceptions and
other comments are not part of it (tests/golden/retrace has them)."""
import difflib
import os
import random
import subprocess
import sys
import tempfile


class Row:
    """A line of a class: `lines` are obfuscated, `source` original; None: no such range."""

    def __init__(self, rng, holder, before):
        self.name = rng.choice("ab")
        self.lines = self.source = None
        if rng.random() < 0.75:
            start = rng.randrange(6)
            self.lines = (start, start + rng.choice([0, 0, 1, 2]))
            if before and before.lines and rng.random() < 0.4:
                self.name, self.lines = before.name, before.lines
        kind, start = rng.random(), rng.randrange(30)
        self.lone = kind < 0.35
        if kind < 0.8:
            self.source = (start, start if self.lone else start + rng.choice([0, 1, 2, 3]))
        self.holder = rng.choice([holder, holder, holder, "q.D", "p.C0"])
        self.method = rng.choice(["foo", "bar", "baz"])
        self.kind = rng.choice(["void", "int"])
        self.arguments = rng.choice(["", "int", "int,int"])

    def signature(self):
        return self.holder, self.method, self.kind, self.arguments

    def holds(self, line):
        return self.lines is not None and self.lines[0] <= line <= self.lines[1]

    def ambiguous(self):
        """Whether one obfuscated line may be several original ones."""
        if self.source is None or self.source[0] == self.source[1]:
            return False
        return self.lines is None or span(self.lines) != span(self.source)

    def text(self, holder):
        lines = "%d:%d:" % self.lines if self.lines else ""
        owner = self.holder + "." if self.holder != holder else ""
        source = ""
        if self.source:
            source = ":%d" % self.source[0] if self.lone else ":%d:%d" % self.source
        return "    %s%s %s%s(%s)%s -> %s" % (lines, self.kind, owner, self.method, self.arguments,
                                             source, self.name)


def span(pair):
    return pair[1] - pair[0] + 1


def stacks(rows):
    """Splits rows into inline stacks: consecutive rows for the same lines."""
    out = []
    for row in rows:
        if out and row.lines and out[-1][-1].lines == row.lines:
            out[-1].append(row)
        else:
            out.append([row])
    return out


def partition(rows):
    """By outermost method; all is one where the first and the last are the same."""
    parts = stacks(rows)
    if parts[0][-1].signature() == rows[-1].signature():
        return [rows]
    out = [parts[0]]
    for part in parts[1:]:
        if part[-1].signature() == out[-1][-1].signature():
            out[-1] = out[-1] + part
        else:
            out.append(part)
    return out


def rows_for(rows, line, any_line):
    for i, row in enumerate(rows):
        if row.holds(line):
            end = i + 1
            while end < len(rows) and rows[end].lines == row.lines:
                end += 1
            return rows[i:end]
    return [row for row in rows if row.lines is None][:1] if any_line else []


def narrow(parts, line):
    """[(part, rows that answer)]; rows may be none: the name alone is known. []: nothing is known."""
    has_line = line > 0
    found = [(p, rows_for(p, line if has_line else 0, not has_line)) for p in parts]
    found = [(p, rows) for p, rows in found if rows]
    if not found and has_line:
        found = [(p, [row for row in p if row.lines is None]) for p in parts]
        found = [(p, rows) for p, rows in found if rows]
    if not found and not has_line:
        found = [(p, []) for p in parts]
    return found


def original(row, line, ambiguous, fixed):
    """The original line of a row, or None: the mapping does not say."""
    if fixed is None and row.source and row.source[0] == row.source[1]:
        fixed = row.source[0]
    if fixed is not None:
        return fixed
    if not ambiguous and (row.lines is None or line == -1):
        first = (row.source or row.lines or (0, 0))[0]
        return first if first > 0 else None
    if not row.holds(line):
        return None
    return row.source[0] + line - row.lines[0] if row.source else line


def alternatives(found, line):
    ambiguous = len(found) > 1 or len(stacks(found[0][1])) > 1 or any(
        row.ambiguous() for row in found[0][1])
    out = []
    for part, rows in found:
        if not rows:
            out.append([(part[-1], None)])
        for stack in stacks(rows):
            several = ambiguous and stack[0].ambiguous()
            for top in range(stack[0].source[0], stack[0].source[1] + 1) if several else [None]:
                out.append([(row, original(row, line, ambiguous, None if i else top))
                            for i, row in enumerate(stack)])
    return ambiguous, [[(row, line if at is None else at) for row, at in a] for a in out]


def order(alternative):
    row, at = alternative[0]
    n = row.arguments.count(",") + 1 if row.arguments else 0
    return row.holder, row.method, row.kind, n, row.arguments, at


def retrace(rows, name, line, verbose):
    """The printed lines of a frame; None: only the class is known."""
    rows = [row for row in rows if row.name == name]
    found = narrow(partition(rows), line) if rows else []
    if not found:
        return None
    ambiguous, every = alternatives(found, line)
    seen, kept = set(), []
    for a in every:
        row, at = a[0]
        key = (row.holder, row.method, at if verbose or line > 0 else None,
               row.signature() if verbose else None)
        if key not in seen:
            seen.add(key)
            kept.append(a)
    kept.sort(key=order)
    out = []
    for depth in range(max(map(len, kept))):
        said = set()
        for i, a in enumerate(kept):
            if depth >= len(a):
                continue
            row, at = a[depth]
            method = "%s %s(%s)" % (row.kind, row.method, row.arguments) if verbose else row.method
            shown = at > 0 and (line > -1 or not ambiguous or verbose)
            text = frame(row.holder, method, at if shown else -1)
            if text not in said:
                said.add(text)
                out.append("\t" + ("<OR> " if i else "") + text)
    return out


def frame(holder, method, line):
    return "at %s.%s(%s.java%s)" % (holder, method, holder.split(".")[-1],
                                    ":%d" % line if line > 0 else "")


def compare(tool, seed, folder):
    rng = random.Random(seed)
    mapping, stack, wanted = [], [], {False: [], True: []}
    for c in range(rng.randrange(1, 3)):
        holder, rows = "p.C%d" % c, []
        mapping.append("%s -> c%d:" % (holder, c))
        for _ in range(rng.randrange(1, 9)):
            rows.append(Row(rng, holder, rows[-1] if rows else None))
            mapping.append(rows[-1].text(holder))
        for name in "abz":
            for line in range(-1, 9):
                stack.append("\tat c%d.%s(F%s)" % (c, name, ":%d" % line if line >= 0 else ""))
                for verbose in wanted:
                    wanted[verbose] += retrace(rows, name, line, verbose) or [
                        "\t" + frame(holder, name, line)]
    paths = [os.path.join(folder, name) for name in ("mapping", "stack")]
    for path, lines in zip(paths, (mapping, stack)):
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
    for verbose in wanted:
        command = [tool, "retrace"] + (["--verbose"] if verbose else []) + paths
        got = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        if got != wanted[verbose]:
            print("\n".join(["seed %d:" % seed] + mapping +
                            list(difflib.unified_diff(wanted[verbose], got, "model", "tool"))))
            return False
    return True


def main():
    first, last = [int(v) for v in sys.argv[2:4]] if len(sys.argv) > 3 else (0, 100)
    with tempfile.TemporaryDirectory() as folder:
        bad = sum(not compare(sys.argv[1], seed, folder) for seed in range(first, last))
    print("%d mappings, %d with differences" % (last - first, bad))
    return bad != 0


sys.exit(main())
