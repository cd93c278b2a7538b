/* Names that a runtime gives: Java and Kotlin, C# (Mono, .NET, IL2CPP's C names), Lua. */
#include "stacks/name_parts.h"

#include <ctype.h>
#include <string.h>

static size_t digits_at(const char *s)
{
    return strspn(s, "0123456789");
}

static bool is_number(const char *s)
{
    return *s && s[digits_at(s)] == '\0';
}

/* Around the name ---------------------------------------------------------------------------------
 */

/* "at x", "(wrapper delegate-invoke) x" */
static void strip_lead(struct name_pass *p)
{
    if (name_starts(p->text, "at "))
        name_cut(p, 0, 3);
    if (name_starts(p->text, "(wrapper ")) {
        name_cut(p, 0, name_group_end(p->text, 0, p->len));
        p->glue = true;
    }
    while (p->text[0] == ' ')
        name_cut(p, 0, 1);
}

/* Parameters and what follows; a return type before; "+12" and ":12" behind. */
static void strip_around(struct name_pass *p)
{
    char *paren = p->len ? strchr(p->text + 1, '(') : NULL, *mark, *bracket;

    if (paren)
        name_end_at(p, (size_t)(paren - p->text));
    while ((bracket = strchr(p->text, '['))) { /* type arguments, offsets */
        size_t at = (size_t)(bracket - p->text);

        name_cut(p, at, name_group_end(p->text, at, p->len) - at);
    }
    while (p->len && p->text[p->len - 1] == ' ')
        name_end_at(p, p->len - 1);

    char *blank = paren ? strrchr(p->text, ' ') : NULL;

    if (blank)
        name_cut(p, 0, (size_t)(blank + 1 - p->text));
    else if ((blank = strchr(p->text, ' ')))
        name_end_at(p, (size_t)(blank - p->text));
    while ((mark = strrchr(p->text, '+')) && is_number(mark + 1) && mark > p->text)
        name_end_at(p, (size_t)(mark - p->text));
    while ((mark = strrchr(p->text, ':')) && is_number(mark + 1) && mark > p->text)
        name_end_at(p, (size_t)(mark - p->text));
}

/* "java.base@11/java.lang.Thread.run", "app//com.x.A.b", "com/x/A.b"; Mono nests by '/' too. */
static void strip_module(struct name_pass *p)
{
    char *slash = strchr(p->text, '/'), *dot = strchr(p->text, '.'), *at = strchr(p->text, '@');

    if (!slash)
        return;
    if (name_starts(p->text, "java.") || name_starts(p->text, "jdk.") || (at && at < slash) ||
        slash[1] == '/') {
        slash = strrchr(p->text, '/');
        name_cut(p, 0, (size_t)(slash + 1 - p->text));
        return;
    }
    for (char *s = slash; *s; s++)
        if (*s == '/')
            *s = dot && dot < slash ? '+' : '.';
}

/* C#
 * ------------------------------------------------------------------------------------------------
 */

struct rebuild {
    struct name_pass *p;
    const char *s;
    size_t len, at, out;
};

static bool starts_component(const struct rebuild *r)
{
    return r->out == 0 || r->p->text[r->out - 1] == '.';
}

static void put_bytes(struct rebuild *r, const char *bytes, size_t n)
{
    memmove(r->p->text + r->out, bytes, n);
    r->out += n;
}

/* After a component that names the function it was made of: the one it is run by. */
static void skip_runner(struct rebuild *r)
{
    static const char *const runners[] = {".MoveNext", "+MoveNext", ":MoveNext"};

    for (size_t i = 0; i < 3; i++)
        if (strcmp(r->s + r->at, runners[i]) == 0)
            r->at = r->len;
}

static void drop_part(struct rebuild *r, size_t end)
{
    r->at = end;
    if (r->out && r->p->text[r->out - 1] == '.')
        r->out--;
    else if (r->at < r->len) /* the first one: with the separator behind it */
        r->at++;
}

/* "<Load>b__0", "<Load>d__3", "<Load>g__Helper|2_0", "<>c__DisplayClass1_0", "<<Load>b__0>d" */
static void made_component(struct rebuild *r)
{
    size_t close = name_group_end(r->s, r->at, r->len), end;
    const char *inner = r->s + r->at + 1;
    size_t n = close - r->at - 2;

    end = close + strcspn(r->s + close, ".+:/");
    r->p->closure = true;
    while (n && *inner == '<') { /* of a closure's own state machine */
        inner++;
        n = strcspn(inner, ">");
    }
    if (n == 0) {
        drop_part(r, end);
        return;
    }
    put_bytes(r, inner, n);

    const char *local = r->s + close;

    if (name_starts(local, "g__")) {
        size_t m = strcspn(local + 3, "|.+:/");

        put_bytes(r, ".", 1);
        put_bytes(r, local + 3, m);
    }
    r->at = end;
    skip_runner(r);
}

static void angle(struct rebuild *r)
{
    size_t close = name_group_end(r->s, r->at, r->len);

    if (!starts_component(r))
        r->at = close; /* type arguments */
    else if (r->s[close - 1] == '>' && name_ident_byte(r->s[close]))
        made_component(r);
    else { /* "<init>", "<clinit>", "<Module>" */
        put_bytes(r, r->s + r->at, close - r->at);
        r->at = close;
    }
}

static void rebuild_components(struct name_pass *p)
{
    char source[NAME_TEXT_MAX + 1];

    memcpy(source, p->text, p->len + 1);

    struct rebuild r = {.p = p, .s = source, .len = p->len};

    while (r.at < r.len) {
        char b = r.s[r.at];

        if (b == '<') {
            angle(&r);
        } else if (b == '`') {
            r.at += 1 + digits_at(r.s + r.at + 1);
        } else {
            if (b == ':' || b == '+')
                b = '.';
            put_bytes(&r, &b, 1);
            r.at++;
        }
    }
    name_end_at(p, r.out);
}

/* Java and Kotlin
 * -----------------------------------------------------------------------------------
 */

/* "Game$$ExternalSyntheticLambda3.run", "-$$Lambda$Game$hash.run", "Game$$Lambda$12/0x0.run" */
static void synthetic_class(struct name_pass *p)
{
    static const char *const marks[] = {"-$$Lambda$", "$$ExternalSynthetic", "$$InternalSynthetic",
                                        "$$Lambda",   "$$SyntheticLambda",   "$sam$"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char *at = strstr(p->text, marks[i]), *method = at ? strrchr(at, '.') : NULL;

        if (!at)
            continue;
        if (!method)
            method = p->text + p->len;
        if ((at == p->text || at[-1] == '.') && *method)
            method++;
        p->glue = true;
        name_cut(p, (size_t)(at - p->text), (size_t)(method - at));
    }
}

static char *method_of(struct name_pass *p)
{
    char *dot = strrchr(p->text, '.');

    return dot ? dot + 1 : p->text;
}

static void replace_method(struct name_pass *p, char *method, const char *text)
{
    size_t n = strlen(text);

    memcpy(method, text, n + 1);
    p->len = (size_t)(method - p->text) + n;
}

/* "lambda$load$0": of load; "lambda$new$0": of the constructor. */
static void java_lambda(struct name_pass *p, char *m)
{
    char *last = strrchr(m, '$');

    if (!name_starts(m, "lambda$"))
        return;
    p->closure = true;
    if (last > m + 6 && is_number(last + 1))
        name_end_at(p, (size_t)(last - p->text));
    name_cut(p, (size_t)(m - p->text), 7);
    if (strcmp(m, "new") == 0 && last > m) /* "lambda$new$0" is longer than "<init>" */
        replace_method(p, m, "<init>");
    else if (strcmp(m, "static") == 0)
        replace_method(p, m, "<clinit>");
}

static void cut_method_at(struct name_pass *p, char *m, const char *mark, bool *flag)
{
    char *at = *m ? strstr(m + 1, mark) : NULL;

    if (!at)
        return;
    if (flag)
        *flag = true;
    name_end_at(p, (size_t)(at - p->text));
}

static void accessor(struct name_pass *p, char *m)
{
    static const char *const marks[] = {"access$", "-$$Nest$", "$r8$lambda$"};

    for (size_t i = 0; i < 3; i++) {
        if (!name_starts(m, marks[i]))
            continue;
        p->glue = true;
        if (i == 2)
            replace_method(p, m, "lambda");
        else if (is_number(m + 7))
            replace_method(p, m, "access");
        else
            name_cut(p, (size_t)(m - p->text), strlen(marks[i]));
        return;
    }
}

static void internal_suffix(struct name_pass *p, char *m)
{
    size_t n = strlen(m);
    char *at = strchr(m, '$');

    if (at && at > m && (name_ends(m, n, "_release") || name_ends(m, n, "_debug")))
        name_end_at(p, (size_t)(at - p->text));
}

static void java_method(struct name_pass *p)
{
    char *m = method_of(p);

    accessor(p, m);
    java_lambda(p, m);
    cut_method_at(p, m, "$lambda", &p->closure);
    cut_method_at(p, m, "$default", &p->glue);
    cut_method_at(p, m, "$suspendImpl", NULL);
    cut_method_at(p, m, "$$forInline", NULL);
    internal_suffix(p, m);
    cut_method_at(p, m, "-", NULL); /* Kotlin's inline classes; no name has a dash of its own */
}

static bool runs_a_closure(const char *method)
{
    static const char *const names[] = {"invoke", "invokeSuspend", "create", "emit", "collect"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(method, names[i]) == 0)
            return true;
    return false;
}

/* Kotlin: "Game$load$1" is a closure in load, once its number is off. */
static void kotlin_function(struct name_pass *p, size_t class_end)
{
    size_t at = class_end;

    while (at && p->text[at - 1] != '$' && p->text[at - 1] != '.')
        at--;
    if (at < 2 || p->text[at - 1] != '$' || !islower((unsigned char)p->text[at]))
        return;
    p->text[at - 1] = '.';
    if (runs_a_closure(p->text + class_end + 1))
        name_end_at(p, class_end);
}

/* "Game$1.run", "Game$load$1$2.invoke"; "Game$1Local.run" is Game$Local's. */
static void anonymous_class(struct name_pass *p)
{
    char *m = method_of(p);
    size_t end = (size_t)(m - p->text), at;
    bool found = false;

    if (end < 2)
        return;
    for (end--; end; end = at) { /* end: of the class */
        at = end;
        while (at && isdigit((unsigned char)p->text[at - 1]))
            at--;
        if (at == end || at < 2 || p->text[at - 1] != '$' || p->text[at - 2] == '.')
            break;
        at--;
        name_cut(p, at, end - at);
        found = true;
    }
    if (found) {
        p->closure = true;
        kotlin_function(p, end);
    }
}

static void numbered_parts(struct name_pass *p)
{
    for (size_t i = 0; i + 1 < p->len; i++) {
        size_t n = p->text[i] == '$' ? digits_at(p->text + i + 1) : 0;

        if (n && isalpha((unsigned char)p->text[i + 1 + n]))
            name_cut(p, i + 1, n);
    }
}

/* "$Proxy12", "GeneratedMethodAccessor12" */
static void numbered_classes(struct name_pass *p)
{
    static const char *const names[] = {"$Proxy", "GeneratedMethodAccessor",
                                        "GeneratedConstructorAccessor"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *at = strstr(p->text, names[i]);

        if (!at)
            continue;
        p->glue = true;
        at += strlen(names[i]);
        name_cut(p, (size_t)(at - p->text), digits_at(at));
    }
}

void name_managed(struct name_pass *p)
{
    strip_lead(p);
    strip_around(p);
    synthetic_class(p);
    strip_module(p);
    rebuild_components(p);
    if (!strpbrk(p->text, "$-"))
        return;
    numbered_classes(p);
    java_method(p);
    anonymous_class(p);
    numbered_parts(p);
}

/* IL2CPP: C# as C functions: "Level_Load_m" and 40 digits of a hash.
 * ---------------------------------
 */

static size_t il2cpp_hash(const char *text)
{
    const char *at = text;

    while ((at = strstr(at, "_m"))) {
        size_t n = strspn(at + 2, "0123456789ABCDEF");

        if (n >= 32 && at > text && !name_ident_byte(at[2 + n]))
            return (size_t)(at - text);
        if (n >= 32 && at > text &&
            (name_starts(at + 2 + n, "_gshared") || name_starts(at + 2 + n, "_inline") ||
             name_starts(at + 2 + n, "_AdjustorThunk")))
            return (size_t)(at - text);
        at += 2;
    }
    return 0;
}

bool name_is_il2cpp(const char *text)
{
    return il2cpp_hash(text) > 0;
}

/* In place: "U3CLoadU3Ed__3" to "<Load>d__3". */
static void unescape_il2cpp(struct name_pass *p)
{
    for (char *at = p->text; (at = strstr(at, "U3")); at++)
        if (at[2] == 'C' || at[2] == 'E') {
            *at = at[2] == 'C' ? '<' : '>';
            name_cut(p, (size_t)(at + 1 - p->text), 2);
        }
}

static size_t made_up_name_end(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");

    if (name_starts(s + n, "__"))
        n += 2;
    n += strspn(s + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    n += digits_at(s + n);
    if (s[n] == '_' && digits_at(s + n + 1))
        n += 1 + digits_at(s + n + 1);
    return n;
}

void name_il2cpp(struct name_pass *p)
{
    p->glue |= strstr(p->text, "_AdjustorThunk") != NULL;
    name_end_at(p, il2cpp_hash(p->text));
    unescape_il2cpp(p);
    for (char *at; (at = strchr(p->text, '<'));) {
        size_t from = (size_t)(at - p->text), close = from + strcspn(at, ">");

        p->closure = true;
        if (close >= p->len) {
            name_cut(p, from, 1);
            continue;
        }
        close += 1 + made_up_name_end(p->text + close + 1);
        size_t n = strcspn(at + 1, ">"), behind = close;

        while (behind < p->len && p->text[behind] == '_')
            behind++;
        if (n == 0) { /* "<>c__DisplayClass5_0_" */
            name_cut(p, from, (p->text[close] == '>' ? close + 1 : behind) - from);
            continue;
        }
        if (name_starts(p->text + behind, "MoveNext"))
            behind = p->len;
        name_cut(p, from + 1 + n, behind - from - 1 - n);
        name_cut(p, from, 1);
    }
}

/* Lua ---------------------------------------------------------------------------------------------
 */

bool name_is_lua(const char *text)
{
    const char *lua = strstr(text, ".lua");

    return (lua && strchr(":\">", lua[4])) || name_starts(text, "[C]") ||
           name_starts(text, "[string ") || name_starts(text, "in function ") ||
           name_starts(text, "(...tail calls...)");
}

struct lua_place {
    const char *file, *rest; /* of the function */
    size_t file_len;
};

/* Splits "path.lua:12: in …", "[string "path"]:12: …", "… <path.lua:12>". */
static struct lua_place lua_split(const char *s)
{
    struct lua_place l = {.file = s, .rest = ""};
    const char *angle = strchr(s, '<'), *lua;

    if (name_starts(s, "in function ")) {
        l.file = angle ? angle + 1 : "";
        l.file_len = strcspn(l.file, ":>");
        l.rest = angle ? "<" : s;
        return l;
    }
    if (name_starts(s, "[string ")) {
        l.file = s + 8 + (s[8] == '"');
        l.file_len = strcspn(l.file, "\"]");
        s = l.file + l.file_len + strcspn(l.file + l.file_len, ":");
    } else if (name_starts(s, "[C]")) {
        l.file_len = 3;
        s += 3;
    } else if ((lua = strstr(s, ".lua"))) {
        l.file_len = (size_t)(lua + 4 - s);
        s = lua + 4 + strcspn(lua + 4, ":");
    }
    if (*s == ':')
        s++;
    if (isdigit((unsigned char)*s) && (s[digits_at(s)] == ':' || !s[digits_at(s)]))
        s += digits_at(s);
    l.rest = *s == ':' ? s + 1 : s;
    return l;
}

/* "in upvalue 'name'", "in function <file:12>", "in main chunk", "name:12" */
static void lua_function(const char *rest, struct name_pass *p)
{
    static const char *const kinds[] = {"in ",    "function ", "method ",     "local ", "upvalue ",
                                        "field ", "global ",   "metamethod ", "'",      "`"};
    size_t n;

    rest += strspn(rest, " ");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (name_starts(rest, kinds[i]))
            rest += strlen(kinds[i]);
    n = strcspn(rest, "'<> ");
    if (name_starts(rest, "main chunk")) {
        rest = "(main)";
        n = 6;
    } else if (n == 0) {
        rest = *rest == '<' ? "(function)" : "?";
        n = strlen(rest);
    }
    for (size_t k = n; k && (isdigit((unsigned char)rest[k - 1]) || rest[k - 1] == ':'); k--)
        if (rest[k - 1] == ':' && k > 1)
            n = k - 1;
    memcpy(p->text + p->len, rest, n);
    name_end_at(p, p->len + n);
}

void name_lua(struct name_pass *p)
{
    char source[NAME_TEXT_MAX + 1];
    struct lua_place l;

    if (name_starts(p->text, "(...tail calls...)")) {
        p->glue = true;
        name_end_at(p, 0);
        return;
    }
    memcpy(source, p->text, p->len + 1);
    l = lua_split(source);
    for (size_t i = l.file_len; i; i--) /* devices differ in the folder */
        if (l.file[i - 1] == '/' || l.file[i - 1] == '\\' || l.file[i - 1] == '@') {
            l.file += i;
            l.file_len -= i;
            break;
        }

    bool bare = l.file_len && l.file[0] != '[' &&
                (l.file_len < 4 || memcmp(l.file + l.file_len - 4, ".lua", 4) != 0);
    size_t n = l.file_len < NAME_TEXT_MAX / 2 ? l.file_len : NAME_TEXT_MAX / 2;

    memcpy(p->text, l.file, n);
    name_end_at(p, n);
    if (bare) {
        memcpy(p->text + n, ".lua", 5);
        name_end_at(p, n + 4);
    }
    if (p->len) {
        p->text[p->len] = ':';
        name_end_at(p, p->len + 1);
    }
    if (p->len + strlen(l.rest) + 16 < NAME_TEXT_MAX)
        lua_function(l.rest, p);
}
