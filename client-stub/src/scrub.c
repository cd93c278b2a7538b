#include "src/scrub.h"

#include <stdbool.h>
#include <string.h>

#define MAX_INPUT_BYTES 16384u
#define PERSONAL_DIGITS 7
#define FULL_WIDTH 0xef  /* first byte of every full-width form */
#define MAX_SEPARATORS 2 /* between two digits of one number */

struct out {
    char *at;
    size_t len, room;
};

static void put(struct out *o, const char *text, size_t n)
{
    n = n < o->room - o->len ? n : o->room - o->len;
    if (n)
        memcpy(o->at + o->len, text, n);
    o->len += n;
}

static void put_text(struct out *o, const char *text)
{
    put(o, text, strlen(text));
}

/* Bytes of a full-width form (U+FF01 ... U+FF5E) of that ASCII character at p, 1 for itself, 0. */
static size_t is_char(const char *p, const char *end, char c)
{
    unsigned code = 0xff00u + (unsigned char)c - 0x20u;
    char wide[3] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 63)),
                    (char)(0x80 | (code & 63))};

    if (p < end && *p == c)
        return 1;
    return end - p >= 3 && !memcmp(p, wide, 3) ? 3 : 0;
}

static size_t is_digit(const char *p, const char *end)
{
    if (p < end && (unsigned char)*p != FULL_WIDTH)
        return *p >= '0' && *p <= '9';
    for (char c = '0'; c <= '9'; c++) {
        size_t n = is_char(p, end, c);

        if (n)
            return n;
    }
    return 0;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_local(char c)
{
    return in_word(c) || (c && strchr("._%+-", c));
}

/* The end of a mail address that begins at p; NULL if none does. */
static const char *mail_end(const char *p, const char *end)
{
    const char *at = p;
    bool dot = false;

    while (at < end && in_local(*at))
        at++;
    size_t sign = at > p ? is_char(at, end, '@') : 0;
    if (!sign)
        return NULL;
    at += sign;

    const char *domain = at;
    while (at < end && (in_word(*at) || *at == '-' || (*at == '.' && at > domain))) {
        dot |= *at == '.';
        at++;
    }
    return dot ? at : NULL;
}

static size_t separator(const char *p, const char *end)
{
    static const char all[] = " -.()/_";

    if (p < end && (unsigned char)*p != FULL_WIDTH)
        return *p && strchr(all, *p);
    for (size_t i = 0; i < sizeof all - 1; i++) {
        size_t n = is_char(p, end, all[i]);

        if (n)
            return n;
    }
    return 0;
}

/* The end of the number that begins at p, behind its last digit; *digits of it. */
static const char *number_end(const char *p, const char *end, unsigned *digits)
{
    const char *last = p;

    *digits = 0;
    for (const char *at = p; at < end;) {
        size_t n = is_digit(at, end);

        for (unsigned i = 0; !n && i < MAX_SEPARATORS && *digits; i++) {
            size_t skip = separator(at, end);

            if (!skip)
                break;
            at += skip;
            n = is_digit(at, end);
        }
        if (!n)
            break;
        at += n;
        last = at;
        ++*digits;
    }
    return last;
}

static const char *token_end(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p > ' ')
        p++;
    return p;
}

/* What begins at p and must go: its end, and what stands for it. NULL: nothing. */
static const char *personal(const char *text, const char *p, const char *end, bool in_url,
                            const char **instead)
{
    unsigned digits;
    const char *to;

    if (in_url && (*p == '?' || *p == '#')) {
        *instead = "?[query]";
        return token_end(p, end);
    }
    if ((p == text || !in_local(p[-1])) && (to = mail_end(p, end))) {
        *instead = "[mail]";
        return to;
    }
    if (!is_digit(p, end))
        return NULL;
    to = number_end(p, end, &digits);
    *instead = "[number]";
    return digits >= PERSONAL_DIGITS ? to : NULL;
}

/* A number that is let pass is passed whole: its tail is no number of its own. */
static const char *plain_end(const char *p, const char *end)
{
    unsigned digits;

    return is_digit(p, end) ? number_end(p, end, &digits) : p + 1;
}

void fw_scrub(const char *in, char *out, size_t size)
{
    const char *p = in ? in : "", *end = p + strnlen(p, MAX_INPUT_BYTES), *text = p;
    struct out o = {out, 0, size - 1};
    bool in_url = false;

    while (p < end && o.len < o.room) {
        in_url = (in_url && (unsigned char)*p > ' ') || (end - p > 3 && !memcmp(p, "://", 3));

        const char *instead, *to = personal(text, p, end, in_url, &instead);

        if (to) {
            put_text(&o, instead);
        } else {
            to = plain_end(p, end);
            put(&o, p, (size_t)(to - p));
        }
        p = to;
    }
    out[o.len] = 0;
}
