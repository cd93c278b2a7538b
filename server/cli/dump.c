#include "cli.h"

#include "base/buf.h"
#include "profile/part.h"

#include <errno.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20) /* a session upload is at most 8 MB */

static bool read_all(FILE *f, struct buf *out, struct err *err)
{
    unsigned char chunk[65536];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_put(out, chunk, n);
    if (ferror(f))
        return err_set(err, ERR_INVALID, "read failed: %s", strerror(errno));
    if (!buf_ok(out))
        return err_set(err, ERR_TOO_BIG, "longer than %zu MB", MAX_FILE_BYTES >> 20);
    return true;
}

static bool read_file(const char *path, struct buf *out, struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "rbe");

    if (!f)
        return err_set(err, ERR_NOT_FOUND, "%s", strerror(errno));

    bool ok = read_all(f, out, err);

    if (!standard)
        fclose(f);
    return ok;
}

static bool print_line(void *user, const char *text, size_t len)
{
    FILE *to = user;

    return fwrite(text, 1, len, to) == len && fputc('\n', to) != EOF;
}

int cmd_dump(int argc, char **argv)
{
    static const struct cli_usage usage = {
        .command = "dump",
        .args = "FILE|-",
        .help =
            "Prints a session file as JSON lines, one a packet, as the packets came. A file that\n"
            "is cut or damaged is read as far as it goes; its last line says so.",
        .min_args = 1,
        .max_args = 1};
    struct cli_args args;
    struct buf file;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    buf_init(&file, MAX_FILE_BYTES);

    bool ok = read_file(args.at[0], &file, &err) &&
              part_dump(file.at, file.len, &part_limits_default, print_line, stdout, &err);

    buf_fini(&file);
    if (fflush(stdout) || ferror(stdout))
        ok = err_set(&err, ERR_INTERNAL, "cannot write the output");
    if (ok)
        return CLI_OK;
    if (!err.field[0])
        snprintf(err.field, sizeof err.field, "%s", args.at[0]);
    return cli_fail(&err);
}
