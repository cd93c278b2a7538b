#include "src/collect/reader.h"

#include "src/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATH_BYTES 512
#define MAX_DIGITS 18

void fw_reader_init(struct fw_reader *r, const char *proc, const char *sys)
{
    *r = (struct fw_reader){.proc = proc, .sys = sys, .slow_ms = FW_SLOW_MS};
}

void fw_reader_begin(struct fw_reader *r)
{
    r->deadline_ns = fw_now_ns() + r->slow_ms * 1000000ull;
    r->slow = false;
    r->reason[0] = 0;
}

bool fw_reader_late(struct fw_reader *r)
{
    if (fw_now_ns() >= r->deadline_ns)
        r->slow = true;
    return r->slow;
}

bool fw_reader_fail(struct fw_reader *r, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(r->reason, sizeof r->reason, format, ap);
    va_end(ap);
    return false;
}

/* The last part of the path and what is wrong with it: paths are long, reasons short. */
static int fail_path(struct fw_reader *r, const char *path, const char *why)
{
    const char *name = strrchr(path, '/');

    fw_reader_fail(r, "%.48s: %.40s", name ? name + 1 : path, why);
    return -1;
}

static bool wait_ready(struct fw_reader *r, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t now = fw_now_ns();
    int left_ms = now < r->deadline_ns ? (int)((r->deadline_ns - now) / 1000000u) : 0;

    if (poll(&p, 1, left_ms) > 0)
        return true;
    r->slow = true;
    return false;
}

static int read_open(struct fw_reader *r, int fd, const char *path, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n = 1;

    while (len < size - 1 && n > 0) {
        if (!wait_ready(r, fd))
            return fail_path(r, path, "not ready");
        n = read(fd, out + len, size - 1 - len);
        if (n < 0)
            return fail_path(r, path, strerror(errno));
        len += (size_t)n;
        if (fw_reader_late(r))
            return fail_path(r, path, "slow");
    }
    out[len] = 0;
    return (int)len;
}

static int read_path(struct fw_reader *r, const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fail_path(r, path, strerror(errno));
    int n = read_open(r, fd, path, out, size);
    close(fd);
    return n;
}

static bool format_path(char path[MAX_PATH_BYTES], const char *root, const char *format, va_list ap)
{
    int n = snprintf(path, MAX_PATH_BYTES, "%s/", root);

    if (n < 0 || n >= MAX_PATH_BYTES)
        return false;
    int m = vsnprintf(path + n, (size_t)(MAX_PATH_BYTES - n), format, ap);
    return m >= 0 && m < MAX_PATH_BYTES - n;
}

int fw_read_file(struct fw_reader *r, const char *root, char *out, size_t size, const char *format,
                 ...)
{
    char path[MAX_PATH_BYTES];
    va_list ap;

    va_start(ap, format);
    bool ok = format_path(path, root, format, ap);
    va_end(ap);
    return ok ? read_path(r, path, out, size) : fail_path(r, format, "path too long");
}

bool fw_read_number(struct fw_reader *r, const char *root, int64_t *out, const char *format, ...)
{
    char path[MAX_PATH_BYTES], text[64];
    const char *at = text;
    va_list ap;

    va_start(ap, format);
    bool ok = format_path(path, root, format, ap);
    va_end(ap);
    if (!ok || read_path(r, path, text, sizeof text) < 0)
        return false;
    if (!fw_parse_i64(&at, out)) {
        fail_path(r, path, "not a number");
        return false;
    }
    return true;
}

bool fw_parse_i64(const char **text, int64_t *out)
{
    const char *p = *text + strspn(*text, " \t");
    bool negative = *p == '-';
    int64_t value = 0;

    p += negative;
    size_t n = strspn(p, "0123456789");
    if (!n || n > MAX_DIGITS)
        return false;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (p[i] - '0');
    *out = negative ? -value : value;
    *text = p + n;
    return true;
}

bool fw_parse_field(const char *text, const char *name, int64_t *out)
{
    size_t n = strlen(name);

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, n) && line[n] == ':') {
            const char *value = line + n + 1;

            return fw_parse_i64(&value, out);
        }
    }
    return false;
}
