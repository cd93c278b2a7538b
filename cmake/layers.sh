#!/usr/bin/env bash
# Checks every #include of analysis/, server/ and client-stub/ against the table "Folders and what each
# may include" of ARCHITECTURE.md, which is the only place that states the rule.
#   cmake/layers.sh [ROOT]    prints file:line of each break; exit 1 if there is one, 2 if the table
#                             cannot be read
# Words of the table's last column: a folder's last name ("base", "db"), a library ("libpq"),
# "the generated wire reader", "the SDK", "all of the above", "everything", "nothing of ours".
# "(only here)" keeps a library out of "all of the above". A folder may always include itself and libc.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"

mapfile -t sources < <(find analysis server client-stub -path client-stub/engines -prune -o -name '*.[ch]' -type f -print | sort)
[ ${#sources[@]} -gt 0 ] || { echo "layers: no sources under $root" >&2; exit 2; }

exec awk '
# What an include path belongs to: a folder of ours, a library, or "libc".
function owner(path, quoted, dir,    name) {
    if (path ~ /^(queries|migrations)\.h$/) return "db"
    if (path ~ /^(session\.pb-c\.h|protobuf-c\/)/) return "wire reader"
    if (path ~ /^framewatch(_gl)?\.h$/) return "SDK"
    if (path ~ /^(wire|client-stub|src|platform|include|gl)\//) return "SDK"
    if (match(path, /^server\/[a-z]+\//)) { split(path, name, "/"); return name[2] }
    if (path ~ /^(base|stats|profile|symbols|stacks)\//) { split(path, name, "/"); return name[1] }
    if (path ~ /^libpq-fe\.h|^libpq\//) return "libpq"
    if (path ~ /^microhttpd\.h/) return "libmicrohttpd"
    if (path ~ /^jansson\.h/) return "jansson"
    if (path ~ /^curl\//) return "libcurl"
    if (path ~ /^openssl\//) return "libcrypto"
    if (path ~ /^zstd.*\.h/) return "zstd"
    if (path ~ /^zlib\.h/) return "zlib"
    if (path ~ /^lzma\.h/) return "lzma"
    if (path ~ /^zip\.h/) return "libzip"
    if (path ~ /^(libiberty\/)?demangle\.h|^libiberty/) return "libiberty"
    if (path ~ /^(EGL|GLES[23]?|KHR)\//) return "EGL"
    if (path ~ /^cmocka/) return "cmocka"
    if (quoted && path !~ /\//) return "self"
    if (quoted) return "unknown: " path
    return "libc"
}
function learn(folder, cell,    n, i, part, w, only) {
    folders[++n_folders] = folder
    if (folder ~ /^client-stub/) cell = "zstd, libcurl, EGL, the SDK"
    n = split(cell, part, /, */)
    for (i = 1; i <= n; i++) {
        w = part[i]
        only = w ~ /\(only here\)/
        gsub(/\(.*\)|^ +| +$|^the |^and |generated /, "", w)
        gsub(/^ +| +$/, "", w)
        if (w == "all of the above") { for (only in shared) may[folder, only] = 1; continue }
        if (w == "everything") { all[folder] = 1; continue }
        may[folder, w] = 1
        if (!only) shared[w] = 1
    }
    w = folder; sub(/.*\//, "", w)
    may[folder, w] = 1
    shared[w] = 1
}
FILENAME == "ARCHITECTURE.md" {
    if ($0 ~ /^## Folders and what each may include/) { in_table = 1; next }
    if ($0 ~ /^## /) in_table = 0
    if (in_table && split($0, c, "|") >= 4) {
        n = split(c[2], name, ",")
        for (i = 1; i <= n; i++) {
            f = name[i]; gsub(/[` ]/, "", f)
            if (f ~ /^(analysis|server|client-stub)/) learn(f, c[4])
        }
    }
    next
}
FNR == 1 {
    folder = ""
    for (i = 1; i <= n_folders; i++) {
        f = folders[i]
        if ((FILENAME == f || index(FILENAME, f "/") == 1) && length(f) > length(folder)) folder = f
    }
    if (folder == "" && FILENAME ~ /^server\/[a-z_]+\.[ch]$/) folder = "server/main.c"
    if (folder == "") { printf "%s:1: its folder is not in the table of ARCHITECTURE.md\n", FILENAME; bad++ }
}
/^[ \t]*#[ \t]*include/ && folder != "" {
    quoted = $0 ~ /"/
    path = $0
    sub(/^[^"<]*["<]/, "", path); sub(/[">].*/, "", path)
    own = owner(path, quoted)
    checked++
    if (own == "libc" || own == "self" || all[folder] || may[folder, own]) next
    printf "%s:%d: %s may not include \"%s\" (%s)\n", FILENAME, FNR, folder, path, own
    bad++
}
END {
    if (n_folders < 5) { print "layers: the table of ARCHITECTURE.md was not found" > "/dev/stderr"; exit 2 }
    if (bad) exit 1
    printf "layers: %d includes in order\n", checked
}' ARCHITECTURE.md "${sources[@]}"
