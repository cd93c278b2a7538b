#include "server/api/args.h"

#include "base/digest.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAST_MS INT64_C(253402300799999) /* the end of year 9999 */

static bool clean_text(const char *text)
{
    json_t *string = json_string(text); /* NULL unless valid UTF-8 */
    bool ok = string != NULL;

    json_decref(string);
    return ok && utf8_is_tame(text, "");
}

bool arg_text(struct req *r, const char *name, size_t max, struct db_arg *out, struct err *err)
{
    const char *text = req_query(r, name);

    if (text && (!*text || strlen(text) > max))
        return err_field(err, ERR_INVALID, name, "must have 1 to %zu bytes", max);
    if (text && !clean_text(text))
        return err_field(err, ERR_INVALID, name, "must be UTF-8 without control characters");
    *out = db_text(text);
    return true;
}

bool arg_i64(struct req *r, const char *name, int64_t min, int64_t max, struct db_arg *out,
             struct err *err)
{
    int64_t v;

    *out = db_null();
    if (!req_query(r, name))
        return true;
    if (!req_query_i64(r, name, (struct range){min, max, min}, &v, err))
        return false;
    *out = db_i64(v);
    return true;
}

bool arg_bool(struct req *r, const char *name, struct db_arg *out, struct err *err)
{
    bool v;

    *out = db_null();
    if (!req_query(r, name))
        return true;
    if (!req_query_bool(r, name, false, &v, err))
        return false;
    *out = db_bool(v);
    return true;
}

bool arg_choice(struct req *r, const char *name, const char *const *choices, struct db_arg *out,
                struct err *err)
{
    const char *text = req_query(r, name);

    *out = db_text(text);
    if (!text)
        return true;
    for (; *choices; choices++)
        if (strcmp(text, *choices) == 0)
            return true;
    return err_field(err, ERR_INVALID, name, "is none of its known values");
}

bool arg_hex(struct req *r, const char *name, size_t n, struct db_arg *out, struct err *err)
{
    const char *text = req_query(r, name);

    *out = db_null();
    if (!text)
        return true;

    unsigned char *bytes = arena_alloc(r->mem, n);

    if (!bytes)
        return err_full(err, "a request");
    if (strlen(text) != 2 * n || !from_hex(text, n, bytes))
        return err_field(err, ERR_INVALID, name, "must be %zu hexadecimal digits", 2 * n);
    *out = db_bytes(bytes, n);
    return true;
}

bool arg_time(struct req *r, const char *name, struct db_arg *out, struct err *err)
{
    const char *text = req_query(r, name);
    int64_t us;

    *out = db_null();
    if (!text)
        return true;
    if (!time_parse(text, &us))
        return err_field(err, ERR_INVALID, name,
                         "must be a time like 2024-05-06T07:08:09Z or milliseconds since 1970");
    *out = db_i64(us);
    return true;
}

bool arg_day(struct req *r, const char *name, struct db_arg *out, struct err *err)
{
    const char *text = req_query(r, name);
    int64_t us;

    *out = db_text(text);
    if (text && (strlen(text) != 10 || text[4] != '-' || !time_parse(text, &us)))
        return err_field(err, ERR_INVALID, name, "must be a day like 2024-05-06");
    return true;
}

bool param_i64(struct req *r, unsigned i, const char *name, int64_t max, int64_t *out,
               struct err *err)
{
    const char *text = r->param[i];
    size_t digits = strspn(text, "0123456789");

    errno = 0;

    long long v = strtoll(text, NULL, 10);

    if (!digits || text[digits] || errno || v > max)
        return err_field(err, ERR_INVALID, name, "must be a whole number");
    *out = v;
    return true;
}

/* Exactly `digits` of them at *at, which then moves past; -1 otherwise. */
static int take_number(const char **at, unsigned digits)
{
    int v = 0;

    for (unsigned i = 0; i < digits; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return -1;
        v = v * 10 + (**at - '0');
    }
    return v;
}

static bool take_char(const char **at, const char *any_of)
{
    if (!**at || !strchr(any_of, **at))
        return false;
    ++*at;
    return true;
}

/* Days since 1970-01-01 in the Gregorian calendar: H. Hinnant, "chrono-compatible low-level date
 * algorithms", days_from_civil. */
static int64_t days_from_civil(int y, int m, int d)
{
    y -= m <= 2;

    int era = y / 400, year_of_era = y - era * 400;
    int day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return (int64_t)era * 146097 + day_of_era - 719468;
}

static int days_in_month(int y, int m)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

    return days[m - 1] + (m == 2 && leap);
}

static bool take_date(const char **at, int64_t *days)
{
    int y = take_number(at, 4), m, d;

    if (y < 1970 || !take_char(at, "-") || (m = take_number(at, 2)) < 1 || m > 12 ||
        !take_char(at, "-") || (d = take_number(at, 2)) < 1 || d > days_in_month(y, m))
        return false;
    *days = days_from_civil(y, m, d);
    return true;
}

/* "07:08:09.123456"; further digits are cut. */
static bool take_clock(const char **at, int64_t *us)
{
    int h = take_number(at, 2), m, s;

    if (h < 0 || h > 23 || !take_char(at, ":") || (m = take_number(at, 2)) < 0 || m > 59 ||
        !take_char(at, ":") || (s = take_number(at, 2)) < 0 || s > 60)
        return false;
    *us = ((h * 60 + m) * INT64_C(60) + s) * 1000000;
    if (!take_char(at, "."))
        return true;

    int64_t unit = 100000;

    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
        *us += (**at - '0') * unit;
    return true;
}

/* "Z" or "+02:00". A '+' that a form decoder made a blank is taken for what it was. */
static bool take_zone(const char **at, int64_t *us)
{
    if (take_char(at, "Zz")) {
        *us = 0;
        return true;
    }

    int sign = **at == '-' ? -1 : 1, h, m;

    if (!take_char(at, "+- ") || (h = take_number(at, 2)) < 0 || h > 23 || !take_char(at, ":") ||
        (m = take_number(at, 2)) < 0 || m > 59)
        return false;
    *us = sign * (h * 60 + m) * INT64_C(60000000);
    return true;
}

static bool parse_iso(const char *at, int64_t *us)
{
    int64_t days, clock = 0, zone = 0;

    if (!take_date(&at, &days))
        return false;
    if (*at && (!take_char(&at, "Tt ") || !take_clock(&at, &clock) || !take_zone(&at, &zone)))
        return false;
    *us = days * INT64_C(86400000000) + clock - zone;
    return !*at && *us >= 0;
}

bool time_parse(const char *text, int64_t *us)
{
    int64_t v;
    size_t digits = strspn(text, "0123456789");

    if (!digits || text[digits]) {
        if (!parse_iso(text, &v))
            return false;
    } else {
        errno = 0;
        v = strtoll(text, NULL, 10);
        if (errno || v > LAST_MS)
            return false;
        v *= 1000;
    }
    *us = v;
    return true;
}
