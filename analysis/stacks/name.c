#include "stacks/name.h"

#include "base/utf8.h"
#include "stacks/name_parts.h"
#include "symbols/demangle.h"

#include <ctype.h>
#include <string.h>

#define ROUNDS 32 /* nested closures take one each at worst */
#define UNREADABLE "(unreadable)"

const char *const name_role_name[] = {"plain",   "closure", "glue", "base",
                                      "runtime", "pause",   "empty"};

bool name_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool name_ends(const char *text, size_t len, const char *suffix)
{
    size_t n = strlen(suffix);

    return len >= n && memcmp(text + len - n, suffix, n) == 0;
}

bool name_ident_byte(char c)
{
    unsigned char u = (unsigned char)c;

    return u >= 0x80 || isalnum(u) || u == '_' || u == '$';
}

void name_end_at(struct name_pass *p, size_t len)
{
    p->len = len;
    p->text[len] = '\0';
}

void name_cut(struct name_pass *p, size_t at, size_t n)
{
    memmove(p->text + at, p->text + at + n, p->len - at - n + 1);
    p->len -= n;
}

static bool is_operator_word(const char *text, size_t at, size_t len)
{
    return len - at > 8 && memcmp(text + at, "operator", 8) == 0 &&
           (at == 0 || !name_ident_byte(text[at - 1])) && !name_ident_byte(text[at + 8]);
}

static char closer_of(char c)
{
    return c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : c == '<' ? '>' : '\0';
}

size_t name_group_end(const char *text, size_t at, size_t len)
{
    char stack[64];
    size_t depth = 0;

    for (; at < len; at++) {
        char c = text[at], closer = closer_of(c);

        if (is_operator_word(text, at, len)) {
            at += 8;
            while (at < len && strchr("<>=-!", text[at]))
                at++;
            at--;
        } else if (closer) {
            if (depth == sizeof stack)
                return len;
            stack[depth++] = closer;
        } else if (c == '>' && at && text[at - 1] == '-') {
            continue;
        } else if (depth && c == stack[depth - 1] && --depth == 0) {
            return at + 1;
        }
    }
    return len;
}

static bool all_in(const char *text, const char *set)
{
    return text[strspn(text, set)] == '\0';
}

static bool says_nothing(const char *text)
{
    static const char *const empty[] = {
        "Unknown", "unknown", "<unknown>",          "(null)",   "<redacted>",      "[unknown]",
        "??",      "???",     "_mh_execute_header", UNREADABLE, "<unknown symbol>"};

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        if (strcmp(text, empty[i]) == 0)
            return true;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return all_in(text + 2, "0123456789abcdefABCDEF");
    return all_in(text, "0123456789?. \t");
}

static void take_text(const char *text, struct name_pass *p)
{
    size_t n = strnlen(text, NAME_TEXT_MAX);

    memcpy(p->text, text, n);
    p->text[n] = '\0';
    utf8_clean(p->text, NAME_TEXT_MAX);
    p->len = strlen(p->text);
}

static bool unmangle(struct name_pass *p)
{
    struct buf out;

    if (p->text[0] != '_')
        return true;
    buf_init(&out, DEMANGLE_TEXT_MAX + DEMANGLE_NAME_MAX + 1);
    if (demangle(p->text, &out)) {
        buf_byte(&out, '\0');
        if (buf_ok(&out))
            take_text((const char *)out.at, p);
    }

    bool ok = buf_ok(&out);

    buf_fini(&out);
    return ok;
}

static void trim(struct name_pass *p)
{
    size_t lead = 0;

    for (size_t i = 0; i < p->len; i++)
        if ((unsigned char)p->text[i] < 0x20 || p->text[i] == 0x7f)
            p->text[i] = ' ';
    while (p->len && p->text[p->len - 1] == ' ')
        name_end_at(p, p->len - 1);
    while (p->text[lead] == ' ')
        lead++;
    name_cut(p, 0, lead);
}

static bool is_fixed(const char *text)
{
    return strcmp(text, "(closure)") == 0 || says_nothing(text);
}

static void read_once(struct name_pass *p, bool managed)
{
    if (name_is_il2cpp(p->text))
        name_il2cpp(p);
    else if (name_is_objc(p->text))
        name_objc(p);
    else if (managed && name_is_lua(p->text))
        name_lua(p);
    else if (managed)
        name_managed(p);
    else
        name_native(p);
    trim(p);
}

/* A pass that leaves nothing has not understood: the text before it is the name. */
static bool read_all(struct name_pass *p, bool managed, char *before)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!managed && !unmangle(p))
            return false;
        if (is_fixed(p->text))
            return true;
        memcpy(before, p->text, p->len + 1);
        read_once(p, managed);
        if (!p->len)
            take_text(p->closure || p->glue ? "(closure)" : before, p);
        if (strcmp(before, p->text) == 0)
            return true;
    }
    take_text(UNREADABLE, p);
    return true;
}

static enum name_role role_of(const struct name_pass *p, bool managed)
{
    enum name_role listed;

    if (says_nothing(p->text))
        return NAME_EMPTY;
    listed = name_role_of(p->text, managed);
    if (listed != NAME_PLAIN)
        return listed;
    return p->glue ? NAME_GLUE : p->closure ? NAME_CLOSURE : NAME_PLAIN;
}

bool name_of(const char *function, bool managed, struct arena *mem, struct name *out)
{
    char text[NAME_TEXT_MAX + 1], before[NAME_TEXT_MAX + 1];
    struct name_pass p = {.text = text};

    take_text(function ? function : "", &p);
    trim(&p);
    if (!read_all(&p, managed, before))
        return false;
    out->role = role_of(&p, managed);
    out->text = arena_dup(mem, p.text, p.len);
    return out->text;
}
