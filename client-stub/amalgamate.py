#!/usr/bin/env python3
"""Writes the SDK as two files, framewatch.c and framewatch.h, for build systems that take sources.

    client-stub/amalgamate.py OUT-FOLDER

The headers come first, each once, in the order of their needs; then the sources. What is private to
a file (static functions, structs, enums not named fw_…) gets the file's name, and its macros end with it, so that
all may stand in one translation unit. Build it with gcc or clang, C11:

    cc -O2 -c framewatch.c          libzstd and libcurl; -DFW_NO_CURL: the game's own transport
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ["wire", "src", "src/buffer", "src/collect", "src/report", "src/control",
           "platform", "platform/linux", "platform/apple"]
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\d[\w.]*|.', re.S)
SYSTEM = re.compile(r"((?:^[ \t]*#[ \t]*include[ \t]+<[^\n]*\n)+)", re.M)
PUBLIC = re.compile(r"^[ \t]*#[ \t]*include[ \t]+<framewatch\.h>[^\n]*\n", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*\n', re.M)
WORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
bool _Atomic _Thread_local _Static_assert __attribute__ defined""".split())


def version():
    text = (HERE / "CMakeLists.txt").read_text()
    return re.search(r"project\(libframewatch VERSION ([\d.]+)", text).group(1)


def sources():
    return [f for folder in FOLDERS for f in sorted((HERE / folder).glob("*.c"))]


def find_header(name, of):
    for base in (HERE, HERE / "include", of.parent):
        if (base / name).is_file():
            return (base / name).resolve()
    sys.exit(f"{of}: no header {name}")


def headers_of(files):
    """Internal headers, those that others need first."""
    order, seen = [], set()

    def visit(path):
        if path in seen:
            return
        seen.add(path)
        for name in INCLUDE.findall(path.read_text()):
            visit(find_header(name, path))
        order.append(path)

    for f in files:
        for name in INCLUDE.findall(f.read_text()):
            visit(find_header(name, f))
    return [h for h in order if h.name != "framewatch.h"]


def tokens_outside_directives(text):
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*\n", "\n", text, flags=re.M)
    return [t for t in TOKEN.findall(text) if not t.isspace() and not t.startswith(("/*", "//"))]


def skip_attribute(toks, i):
    depth = 0
    while i < len(toks):
        depth += toks[i] == "("
        depth -= toks[i] == ")"
        i += 1
        if depth == 0 and toks[i - 1] == ")":
            break
    return i


def private_names(text):
    """Names a source gives at file scope that the linker does not see, and its macros."""
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", text, flags=re.M))
    macros = set(names)
    toks = tokens_outside_directives(text)
    depth, i, start, static = 0, 0, True, False
    while i < len(toks):
        t = toks[i]
        if depth == 0 and t == "__attribute__":
            i = skip_attribute(toks, i + 1)
            continue
        if depth == 0 and start:
            static = t == "static"
        if depth == 0 and t in ("struct", "union", "enum") and i + 2 < len(toks) and toks[i + 2] == "{":
            names.add(toks[i + 1])
        if depth == 0 and t == "enum":
            k = i + 1 if toks[i + 1] == "{" else i + 2
            if toks[k] == "{":
                k += 1
                while toks[k] != "}":
                    names.add(toks[k])
                    while toks[k] not in (",", "}"):
                        k += 1
                    k += toks[k] == ","
        if depth == 0 and static and t not in WORDS and re.match(r"[A-Za-z_]", t) and toks[i + 1] in ("(", "[", "=", ";", ","):
            names.add(t)
            static = toks[i + 1] == ","
        if t in "{(":
            depth += 1
        elif t in "})":
            depth -= 1
        start = depth == 0 and t in (";", "}")
        i += 1
    return names, macros


def rename(text, names, suffix):
    """Gives private names the file's, but not the members of structs that are called alike."""
    toks = TOKEN.findall(text)
    word = [i for i, t in enumerate(toks) if not t.isspace() and not t.startswith(("/*", "//"))]
    body = []  # for each open brace: whether it is a struct's
    for k, i in enumerate(word):
        t = toks[i]
        before = toks[word[k - 1]] if k else ""
        after = toks[word[k + 1]] if k + 1 < len(word) else ""
        if t == "{":
            two = toks[word[k - 2]] if k > 1 else ""
            body.append(before in ("struct", "union") or two in ("struct", "union"))
        elif t == "}" and body:
            body.pop()
        if t not in names or before == "." or (before == ">" and k > 1 and toks[word[k - 2]] == "-"):
            continue
        if body and body[-1] and before not in ("struct", "union", "enum") and after in (";", ",", "[", ":", ")"):
            continue
        toks[i] = f"{t}_{suffix}"
    return "".join(toks)


def strip(text):
    text = re.sub(r"^#pragma once\n", "", text, flags=re.M)
    return INCLUDE.sub("", PUBLIC.sub("", text))


def keep_visible(text):
    """What the system declares is not hidden."""
    return SYSTEM.sub(r"#pragma GCC visibility push(default)\n\1#pragma GCC visibility pop\n", text)


def label(path):
    return path.relative_to(HERE).as_posix()


def suffix(path):
    return re.sub(r"\W", "_", label(path)[:-2])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    files = sources()
    texts = {f: f.read_text() for f in files}
    private = {f: private_names(texts[f]) for f in files}
    parts = [f"/* libframewatch {version()}, all of its sources in one file. Generated; change the sources. */\n"
             "#if !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif\n"
             f'#if !defined(FW_VERSION)\n#define FW_VERSION "{version()}"\n#endif\n'
             '#include "framewatch.h"\n'
             "#pragma GCC visibility push(hidden)\n"]
    for h in headers_of(files):
        parts.append(f"\n/* ---- {label(h)} ---- */\n" + keep_visible(strip(h.read_text())))
    for f in files:
        names, macros = private[f]
        parts.append(f"\n/* ---- {label(f)} ---- */\n")
        private_to_file = {n for n in names - macros if not n.startswith("fw_")}
        parts.append(keep_visible(rename(strip(texts[f]), private_to_file, suffix(f))))
        parts += [f"#undef {n}\n" for n in sorted(macros)]
    parts.append("#pragma GCC visibility pop\n")
    (out / "framewatch.c").write_text("".join(parts))
    (out / "framewatch.h").write_text((HERE / "include/framewatch.h").read_text())


main()
