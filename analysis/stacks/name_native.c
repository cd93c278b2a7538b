/* Names of native code: C, C++ (as GNU, LLVM and Microsoft write them), Rust, Swift. */
#include "stacks/name_parts.h"

#include <ctype.h>
#include <string.h>

struct scan {
    struct name_pass *p;
    const char *s;
    size_t len, at, out; /* out <= at: writes stay behind reads */
    bool after_closure;  /* the component before was a closure */
    bool ended;
};

/* Clone suffixes ----------------------------------------------------------------------------------
 */

static bool is_clone_word(const char *s, size_t n)
{
    static const char *const words[] = {
        "cold",      "part",     "isra",    "constprop", "llvm",    "lto_priv", "localalias",
        "unlikely",  "hot",      "warm",    "clone",     "argprom", "cfi",      "cfi_jt",
        "__uniq",    "resolver", "ifunc",   "split",     "exit",    "startup",  "specialized",
        "isra_cold", "thunk",    "memprof", "kcfi",      "str"};

    if (n == 0)
        return false;
    if (strspn(s, "0123456789") >= n)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], s, n) == 0)
            return true;
    return false;
}

/* ".cold", ".part.0.constprop.1": nothing but such words up to the end or a blank. */
static bool clone_suffix_at(const struct scan *c)
{
    size_t at = c->at;

    while (at < c->len && c->s[at] == '.') {
        size_t n = strcspn(c->s + at + 1, ". @[(");

        if (!is_clone_word(c->s + at + 1, n))
            return false;
        at += 1 + n;
    }
    return at >= c->len || strchr(" @[(", c->s[at]);
}

/* Components --------------------------------------------------------------------------------------
 */

static bool ends_scope(const struct scan *c)
{
    return name_ends(c->p->text, c->out, "::");
}

static bool at_component_start(const struct scan *c)
{
    return c->out == 0 || ends_scope(c);
}

static bool at_text(const struct scan *c, const char *text)
{
    size_t n = strlen(text);

    return c->len - c->at >= n && memcmp(c->s + c->at, text, n) == 0;
}

static void put(struct scan *c, char byte)
{
    c->p->text[c->out++] = byte;
}

/* Passes over a component that has no name of its own, with the "::" before it. */
static void drop_component(struct scan *c, size_t end, bool closure)
{
    c->at = end;
    c->p->closure |= closure;
    c->after_closure = closure;
    if (ends_scope(c))
        c->out -= 2;
    if (c->out == 0 && c->len - c->at >= 2 && memcmp(c->s + c->at, "::", 2) == 0)
        c->at += 2;
}

static bool is_closure_word(const char *s)
{
    return name_starts(s, "lambda") || name_starts(s, "closure") || name_starts(s, "{closure") ||
           name_starts(s, "<lambda") || name_starts(s, "async_") || name_starts(s, "coroutine");
}

/* "operator<< <char>": the blank only keeps the brackets apart. */
static void skip_blank_before_arguments(struct scan *c)
{
    if (at_text(c, " <"))
        c->at++;
}

static void copy_operator(struct scan *c)
{
    static const char *const calls[] = {"operator()", "operator[]"};

    for (size_t i = 0; i < 2; i++)
        if (at_text(c, calls[i])) {
            for (size_t k = 0; k < 10; k++)
                put(c, c->s[c->at++]);
            skip_blank_before_arguments(c);
            return;
        }
    for (size_t k = 0; k < 8; k++)
        put(c, c->s[c->at++]);
    if (c->at < c->len && c->s[c->at] == ' ') { /* new, delete, or a conversion's type */
        put(c, ' ');
        c->at++;
        while (c->at < c->len && c->s[c->at] != '(' && c->s[c->at] != '<')
            put(c, c->s[c->at++]);
        return;
    }
    while (c->at < c->len && strchr("<>=!+-*/%^&|~,", c->s[c->at]) && c->s[c->at])
        put(c, c->s[c->at++]);
    skip_blank_before_arguments(c);
}

/* What a closure calls itself: it goes by the name of the function around it. */
static bool drop_closure_call(struct scan *c)
{
    static const struct {
        const char *text;
        bool glue;
    } calls[] = {{"operator()", false}, {"__invoke", true}, {"_FUN", true}, {"operator ", true}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (at_text(c, calls[i].text)) {
            if (i == 3) /* conversion to a pointer to function */
                c->at = c->len;
            else
                c->at += strlen(calls[i].text);
            c->p->glue |= calls[i].glue;
            if (ends_scope(c))
                c->out -= 2;
            c->after_closure = false;
            return true;
        }
    return false;
}

/* A type as Rust writes it within "<A as B>": without its own type arguments. */
static void copy_plain_type(struct scan *c, size_t end)
{
    while (c->at < end) {
        char b = c->s[c->at];

        if (b == '<') {
            c->at = name_group_end(c->s, c->at, end);
            continue;
        }
        put(c, b);
        c->at++;
    }
}

static bool group_has(const struct scan *c, size_t end, const char *text)
{
    size_t n = strlen(text);

    for (size_t i = c->at; i + n <= end; i++)
        if (memcmp(c->s + i, text, n) == 0)
            return true;
    return false;
}

static void angle(struct scan *c)
{
    size_t end = name_group_end(c->s, c->at, c->len);
    bool closed = end > c->at + 1 && c->s[end - 1] == '>';

    if (!at_component_start(c) || !closed) {
        c->at = end; /* template arguments */
    } else if (is_closure_word(c->s + c->at + 1) || name_starts(c->s + c->at + 1, "unnamed")) {
        drop_component(c, end, is_closure_word(c->s + c->at + 1));
    } else if (name_starts(c->s + c->at + 1, "impl ") || group_has(c, end, " as ")) {
        put(c, '<');
        c->at++;
        copy_plain_type(c, end - 1);
        put(c, '>');
        c->at = end;
    } else if (c->out) { /* Rust: "name::<T>" */
        drop_component(c, end, false);
    } else { /* "<Type>::name" */
        c->at++;
        copy_plain_type(c, end - 1);
        c->at = end;
    }
}

static void brace(struct scan *c)
{
    bool closure = is_closure_word(c->s + c->at + 1);

    c->p->glue |= name_starts(c->s + c->at + 1, "shim") || name_starts(c->s + c->at + 1, "{vtable");
    drop_component(c, name_group_end(c->s, c->at, c->len), closure);
}

static void skip_qualifiers(struct scan *c)
{
    static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept"};
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (at_text(c, words[i])) {
                c->at += strlen(words[i]);
                more = true;
            }
    }
}

static void paren(struct scan *c)
{
    const char *in = c->s + c->at + 1;
    size_t end = name_group_end(c->s, c->at, c->len);

    if (at_component_start(c) &&
        (name_starts(in, "anonymous") || name_starts(in, "lambda") || name_starts(in, "unnamed"))) {
        drop_component(c, end, name_starts(in, "lambda"));
    } else if (at_component_start(c) && !c->after_closure && (*in == '*' || *in == '&')) {
        c->at += 2; /* "(*name(…))(…)": returns a pointer to a function */
    } else {
        c->at = end;
        if (name_ends(c->p->text, c->out, "decltype"))
            return;
        skip_qualifiers(c);
        c->ended = !at_text(c, "::");
    }
}

/* 'lambda0'(int), 'unnamed': LLVM. `anonymous namespace', `2': Microsoft. */
static void quoted(struct scan *c)
{
    const char *in = c->s + c->at + 1;
    const char *close = memchr(in, '\'', c->len - c->at - 1);
    bool inner = c->s[c->at] == '\'' ? name_starts(in, "lambda") || name_starts(in, "unnamed") ||
                                           name_starts(in, "block")
                                     : name_starts(in, "anonymous") || isdigit((unsigned char)*in);

    if (!close || !inner || !at_component_start(c)) {
        c->at++;
        return;
    }
    drop_component(c, (size_t)(close + 1 - c->s),
                   name_starts(in, "lambda") || name_starts(in, "block"));
    if (c->at < c->len && c->s[c->at] == '(')
        c->at = name_group_end(c->s, c->at, c->len);
}

static void blank(struct scan *c)
{
    if (name_ends(c->p->text, c->out, "decltype") && at_text(c, " (")) {
        c->at++;
    } else if (at_text(c, " [clone") || at_text(c, " : ") || at_text(c, " (.")) {
        c->ended = true;
    } else { /* what stood before was the return type */
        c->at++;
        c->out = 0;
    }
}

/* "$_0" */
static bool is_clang_closure(const struct scan *c)
{
    return at_component_start(c) && at_text(c, "$_") && c->len - c->at > 2 &&
           isdigit((unsigned char)c->s[c->at + 2]);
}

static void dollar(struct scan *c)
{
    size_t end = c->at + 2;

    if (!is_clang_closure(c)) {
        put(c, c->s[c->at++]);
        return;
    }
    while (end < c->len && isdigit((unsigned char)c->s[end]))
        end++;
    drop_component(c, end, true);
}

/* "::h0123456789abcdef" at the end of an older Rust name. */
static bool is_rust_hash(const struct scan *c)
{
    if (!at_text(c, "::h") || c->len - c->at != 19)
        return false;
    return strspn(c->s + c->at + 3, "0123456789abcdef") == 16;
}

static bool component_break(struct scan *c)
{
    if (!at_text(c, "::"))
        return false;
    if (is_rust_hash(c)) {
        c->ended = true;
        return true;
    }
    c->at += 2;
    if (c->out && !ends_scope(c)) {
        put(c, ':');
        put(c, ':');
    }
    return true;
}

static bool at_operator(const struct scan *c)
{
    return at_text(c, "operator") && (c->at == 0 || !name_ident_byte(c->s[c->at - 1])) &&
           c->len - c->at > 8 && !name_ident_byte(c->s[c->at + 8]);
}

static void step(struct scan *c)
{
    char b = c->s[c->at];

    if (component_break(c))
        return;
    if (c->after_closure && drop_closure_call(c))
        return;
    if (at_operator(c)) {
        copy_operator(c);
        return;
    }
    switch (b) {
    case '<':
        angle(c);
        return;
    case '(':
        paren(c);
        return;
    case '{':
        brace(c);
        return;
    case '\'':
    case '`':
        quoted(c);
        return;
    case ' ':
        blank(c);
        return;
    case '$':
        dollar(c);
        return;
    case '[':
        c->at = name_group_end(c->s, c->at, c->len);
        return;
    case '@':
        c->ended = true;
        return;
    default:
        break;
    }
    if (b == '.' && c->out && clone_suffix_at(c)) {
        c->ended = true;
        return;
    }
    c->after_closure = false;
    put(c, b);
    c->at++;
}

/* Words before a name
 * ------------------------------------------------------------------------------
 */

/* "closure #1 (Int) -> () in Game.frame()": the name is behind the last " in ". */
static bool swift_closure(struct name_pass *p)
{
    static const char *const words[] = {"closure #", "implicit closure #", "local func "};
    size_t depth = 0, last = 0;
    bool closure = false;

    for (size_t i = 0; i < 3; i++)
        closure |= name_starts(p->text, words[i]);
    if (!closure)
        return false;
    for (size_t i = 0; i < p->len; i++) {
        depth += p->text[i] == '(';
        depth -= p->text[i] == ')' && depth;
        if (depth == 0 && name_starts(p->text + i, " in "))
            last = i + 4;
    }
    if (last)
        name_cut(p, 0, last);
    p->closure |= last > 0;
    return last > 0;
}

static bool strip_words(struct name_pass *p)
{
    static const struct {
        const char *text;
        bool glue, closure;
    } words[] = {
        {"non-virtual thunk to ", true, false},
        {"virtual thunk to ", true, false},
        {"covariant return thunk to ", true, false},
        {"guard variable for ", false, false},
        {"invocation function for block in ", false, true},
        {"partial apply forwarder for ", true, false},
        {"partial apply for ", true, false},
        {"reabstraction thunk helper ", true, false},
        {"dispatch thunk of ", true, false},
        {"protocol witness for ", true, false},
        {"@objc ", true, false},
        {"merged ", false, false},
        {"specialized ", false, false},
        {"outlined ", true, false},
        {"[thunk]:", true, false},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (name_starts(p->text, words[i].text)) {
            p->glue |= words[i].glue;
            p->closure |= words[i].closure;
            name_cut(p, 0, strlen(words[i].text));
            return true;
        }
    return false;
}

/* "__frame_block_invoke_2": the block within frame, in C. */
static void c_block(struct name_pass *p)
{
    char *block = strstr(p->text, "_block_invoke");

    if (!block || !name_starts(p->text, "__") || block < p->text + 3)
        return;
    name_end_at(p, (size_t)(block - p->text));
    name_cut(p, 0, 2);
    p->closure = true;
}

void name_native(struct name_pass *p)
{
    char source[NAME_TEXT_MAX + 1];

    while (strip_words(p) || swift_closure(p))
        ;
    c_block(p);
    memcpy(source, p->text, p->len + 1);

    struct scan c = {.p = p, .s = source, .len = p->len};

    while (c.at < c.len && !c.ended)
        step(&c);
    if (ends_scope(&c))
        c.out -= 2;
    name_end_at(p, c.out);
}

/* Objective-C
 * ---------------------------------------------------------------------------------------
 */

bool name_is_objc(const char *text)
{
    if (name_starts(text, "__"))
        text += 2 + strspn(text + 2, "0123456789");
    return name_starts(text, "-[") || name_starts(text, "+[");
}

void name_objc(struct name_pass *p)
{
    size_t lead = strcspn(p->text, "-+"), end;

    name_cut(p, 0, lead);
    end = name_group_end(p->text, 1, p->len);
    p->closure |= name_starts(p->text + end, "_block_invoke");
    name_end_at(p, end);

    char *category = strchr(p->text, '('), *space = strchr(p->text, ' ');

    if (category && space && category < space) {
        char *close = strchr(category, ')');

        if (close)
            name_cut(p, (size_t)(category - p->text), (size_t)(close + 1 - category));
    }
}
