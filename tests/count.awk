# Sums `ctest -V` output into "PASSED FAILED SKIPPED": a CMocka program counts as its single tests, any
# other program as one. A program that failed without a failed test of its own (a crash, a sanitizer's
# report, a time-out) counts as one failure more. -v failures=FILE collects the output of failed ones.
function close_test(id, ok, skipped) {
    if (id in groups) {
        passed += p[id]; failed += f[id]; skip += s[id]
        if (!ok && !f[id]) failed++
    } else if (skipped) skip++
    else if (ok) passed++
    else failed++
    if (!ok && failures != "") printf "---- %s\n%s", name[id], text[id] >> failures
    delete text[id]
}
match($0, /^ *Start +[0-9]+: /) { split($0, a, /[: ]+/); n = split($0, b, ": "); name[a[3]] = b[2] }
match($0, /^[0-9]+: /) {
    id = substr($0, 1, RLENGTH - 2)
    line = substr($0, RLENGTH + 1)
    if (length(text[id]) < 60000) text[id] = text[id] line "\n"
    if (line ~ /^\[  (PASSED|FAILED|SKIPPED) +\] .*[0-9]+ test\(s\)/) {
        count = line; sub(/ test\(s\).*/, "", count); sub(/.*[^0-9]/, "", count)
        groups[id] = 1
        if (line ~ /^\[  PASSED/) p[id] += count
        else if (line ~ /^\[  FAILED/) f[id] += count
        else s[id] += count
    }
}
match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
    id = $0; sub(/^[^#]*#/, "", id); sub(/:.*/, "", id)
    if (!(id in name)) { n = split($0, b, /: +/); name[id] = b[2] }
    close_test(id, $0 ~ / Passed +[0-9]/, $0 ~ /\*\*\*Skipped/)
}
END { printf "%d %d %d\n", passed, failed, skip }
