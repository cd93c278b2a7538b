#include "server/http/tus_headers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const kind_names[] = {"session", "symbols", "mapping"};

const char *upload_kind_name(enum upload_kind kind)
{
    return kind_names[kind];
}

bool upload_kind_parse(const char *name, enum upload_kind *out)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
        if (strcmp(name, kind_names[i]) == 0) {
            *out = (enum upload_kind)i;
            return true;
        }
    return false;
}

/* base64 ------------------------------------------------------------------------------------------
 */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *bytes, size_t n, char *out)
{
    const unsigned char *p = bytes;

    for (; n >= 3; n -= 3, p += 3) {
        *out++ = alphabet[p[0] >> 2];
        *out++ = alphabet[(p[0] & 3) << 4 | p[1] >> 4];
        *out++ = alphabet[(p[1] & 15) << 2 | p[2] >> 6];
        *out++ = alphabet[p[2] & 63];
    }
    if (n) {
        *out++ = alphabet[p[0] >> 2];
        *out++ = alphabet[(p[0] & 3) << 4 | (n > 1 ? p[1] >> 4 : 0)];
        *out++ = n > 1 ? alphabet[(p[1] & 15) << 2] : '=';
        *out++ = '=';
    }
    *out = '\0';
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* The last group may end in one or two '='; bits that are not used must be zero. */
static bool decode_group(const char *text, bool last, unsigned char *out, size_t *n)
{
    unsigned pad = !last || text[3] != '=' ? 0 : text[2] == '=' ? 2 : 1;
    uint32_t bits = 0;

    for (unsigned i = 0; i < 4; i++) {
        int digit = i >= 4 - pad ? 0 : digit_of(text[i]);

        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
    }
    if ((pad == 1 && bits & 0xff) || (pad == 2 && bits & 0xffff))
        return false;
    for (unsigned i = 0; i < 3 - pad; i++)
        out[(*n)++] = (unsigned char)(bits >> (16 - 8 * i));
    return true;
}

bool base64_decode(const char *text, size_t len, unsigned char *out, size_t *n)
{
    *n = 0;
    if (len % 4)
        return false;
    for (size_t i = 0; i < len; i += 4)
        if (!decode_group(text + i, i + 4 == len, out, n))
            return false;
    return true;
}

/* Upload-Metadata ---------------------------------------------------------------------------------
 */

static bool key_ok(const char *key, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)key[i] <= ' ' || (unsigned char)key[i] >= 0x7f)
            return false;
    return len > 0 && len <= TUS_METADATA_KEY_MAX;
}

static bool bad_metadata(struct err *err, const char *why)
{
    return err_field(err, ERR_INVALID, "Upload-Metadata", "%s", why);
}

/* One "key" or "key value", without the spaces around it. */
static bool parse_pair(const char *text, size_t len, struct arena *mem, struct tus_metadata *m,
                       struct err *err)
{
    const char *space = memchr(text, ' ', len);
    size_t key_len = space ? (size_t)(space - text) : len;
    size_t value_len = space ? len - key_len - 1 : 0;
    struct tus_pair *pair = &m->pair[m->n];

    if (!key_ok(text, key_len))
        return bad_metadata(err, "a key is empty, too long or not visible ASCII");
    if (m->n == TUS_METADATA_KEYS_MAX)
        return bad_metadata(err, "too many keys");
    pair->key = arena_dup(mem, text, key_len);
    pair->encoded = space ? arena_dup(mem, space + 1, value_len) : "";

    unsigned char *value = arena_alloc(mem, value_len + 1);

    if (!pair->key || !pair->encoded || !value)
        return err_full(err, "a request");
    if (!base64_decode(pair->encoded, value_len, value, &pair->len))
        return bad_metadata(err, "a value is not base64");
    value[pair->len] = '\0';
    pair->value = value;
    if (tus_metadata_find(m, pair->key))
        return bad_metadata(err, "a key occurs twice");
    m->n++;
    return true;
}

static void trim(const char **text, size_t *len)
{
    while (*len && (**text == ' ' || **text == '\t')) {
        (*text)++;
        (*len)--;
    }
    while (*len && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
        (*len)--;
}

bool tus_metadata_parse(const char *header, struct arena *mem, struct tus_metadata *out,
                        struct err *err)
{
    struct tus_metadata m = {0};

    *out = m;
    if (!header || !header[strspn(header, " \t")])
        return true;
    if (strlen(header) > TUS_METADATA_MAX)
        return err_field(err, ERR_TOO_BIG, "Upload-Metadata", "longer than %d bytes",
                         TUS_METADATA_MAX);
    m.pair = arena_array(mem, TUS_METADATA_KEYS_MAX + 1, sizeof *m.pair);
    if (!m.pair)
        return err_full(err, "a request");
    for (const char *at = header;;) {
        size_t len = strcspn(at, ","), rest = len;
        const char *text = at;

        trim(&text, &rest);
        if (!parse_pair(text, rest, mem, &m, err))
            return false;
        if (!at[len])
            break;
        at += len + 1;
    }
    *out = m;
    return true;
}

const struct tus_pair *tus_metadata_find(const struct tus_metadata *m, const char *key)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->pair[i].key, key) == 0)
            return &m->pair[i];
    return NULL;
}

const char *tus_metadata_format(const struct tus_metadata *m, const char *install_text,
                                struct arena *mem)
{
    size_t install_len = strlen(install_text), size = BASE64_LEN(install_len) + 1;

    for (size_t i = 0; i < m->n; i++)
        size += strlen(m->pair[i].key) + strlen(m->pair[i].encoded) + 2;

    char *out = arena_alloc(mem, size), *at = out;

    if (!out)
        return NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct tus_pair *pair = &m->pair[i];
        bool install = strcmp(pair->key, "install") == 0;

        at = stpcpy(at, i ? "," : "");
        at = stpcpy(at, pair->key);
        if (install || *pair->encoded)
            *at++ = ' ';
        if (install)
            base64_encode(install_text, install_len, at);
        else
            stpcpy(at, pair->encoded);
        at += strlen(at);
    }
    return out;
}

/* Upload-Concat -----------------------------------------------------------------------------------
 */

/* The id at the end of "[scheme://host]prefix<32 hex digits>". */
static bool url_id(const char *url, size_t len, const char *prefix, unsigned char id[16])
{
    size_t prefix_len = strlen(prefix);
    char digits[33];
    const char *scheme = memmem(url, len, "://", 3);

    if (scheme) {
        const char *host = scheme + 3, *path = memchr(host, '/', len - (size_t)(host - url));

        if (!path || path == host)
            return false;
        len -= (size_t)(path - url);
        url = path;
    }
    if (len != prefix_len + 32 || memcmp(url, prefix, prefix_len) != 0)
        return false;
    memcpy(digits, url + prefix_len, 32);
    digits[32] = '\0';
    return from_hex(digits, 16, id);
}

static bool parse_final(const char *list, const char *prefix, struct arena *mem,
                        struct tus_partials *out, struct err *err)
{
    out->concat = CONCAT_FINAL;
    out->id = arena_array(mem, TUS_PARTIALS_MAX, sizeof *out->id);
    if (!out->id)
        return err_full(err, "a request");
    for (list += strspn(list, " "); *list; list += strspn(list, " ")) {
        size_t len = strcspn(list, " ");

        if (out->n == TUS_PARTIALS_MAX)
            return err_field(err, ERR_TOO_BIG, "Upload-Concat", "more than %d partial uploads",
                             TUS_PARTIALS_MAX);
        if (!url_id(list, len, prefix, out->id[out->n]))
            return err_field(err, ERR_INVALID, "Upload-Concat",
                             "URL %zu of the list is not one of an upload", out->n + 1);
        out->n++;
        list += len;
    }
    if (!out->n)
        return err_field(err, ERR_INVALID, "Upload-Concat", "final needs a list of URLs");
    return true;
}

bool tus_concat_parse(const char *header, const char *prefix, struct arena *mem,
                      struct tus_partials *out, struct err *err)
{
    struct tus_partials p = {0};

    if (header && strcmp(header, "partial") == 0)
        p.concat = CONCAT_PARTIAL;
    else if (header && strncmp(header, "final;", 6) == 0) {
        if (!parse_final(header + 6, prefix, mem, &p, err))
            return false;
    } else if (header)
        return err_field(err, ERR_INVALID, "Upload-Concat",
                         "must be \"partial\" or \"final;\" and a list of URLs");
    *out = p;
    return true;
}

/* Upload-Checksum and numbers ---------------------------------------------------------------------
 */

bool tus_checksum_parse(const char *header, struct tus_checksum *out, struct err *err)
{
    static const struct {
        const char *name;
        enum tus_checksum_kind kind;
        size_t len;
    } known[] = {
        {"sha1", CHECKSUM_SHA1, SHA1_BYTES},
        {"sha256", CHECKSUM_SHA256, SHA256_BYTES},
        {"crc32c", CHECKSUM_CRC32C, 4},
    };
    unsigned char value[64];
    size_t name_len = strcspn(header, " "), n;
    const char *text = header + name_len + (header[name_len] == ' ');

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != name_len || memcmp(known[i].name, header, name_len) != 0)
            continue;
        if (strlen(text) > sizeof value || !base64_decode(text, strlen(text), value, &n) ||
            n != known[i].len)
            return err_field(err, ERR_INVALID, "Upload-Checksum",
                             "the value of %s must be %zu bytes in base64", known[i].name,
                             known[i].len);
        out->kind = known[i].kind;
        out->len = n;
        memcpy(out->value, value, n);
        return true;
    }
    return err_field(err, ERR_INVALID, "Upload-Checksum", "the algorithms are " TUS_CHECKSUMS);
}

bool tus_number_parse(const char *name, const char *header, int64_t *out, struct err *err)
{
    if (header && !parse_decimal(header, out))
        return err_field(err, ERR_INVALID, name, "not a decimal number");
    return true;
}

void http_date(int64_t unix_s, char out[HTTP_DATE_BYTES])
{
    static const char day[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char month[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t t = (time_t)unix_s;
    struct tm utc;

    gmtime_r(&t, &utc);
    snprintf(out, HTTP_DATE_BYTES, "%s, %02u %s %04u %02u:%02u:%02u GMT", day[utc.tm_wday],
             (unsigned)utc.tm_mday % 100, month[utc.tm_mon], (unsigned)(utc.tm_year + 1900) % 10000,
             (unsigned)utc.tm_hour % 100, (unsigned)utc.tm_min % 100, (unsigned)utc.tm_sec % 100);
}
