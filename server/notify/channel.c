#include "server/notify/channel.h"

#include "base/utf8.h"
#include "server/notify/http_out.h"
#include "server/notify/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256
#define SECRET_MAX 2048
#define REDACT_MIN 6 /* shorter ones would blot out words */
#define REDACT_PART_MIN 12
#define LABELS_MAX 16
#define OWNERS_MAX 500

static const struct {
    const char *name, *takes;
    int64_t rate;
} kinds[] = {
#define X(symbol, name, takes, rate) {name, takes, rate},
    CHANNEL_KINDS(X)
#undef X
};

enum channel_kind channel_kind_find(const char *name)
{
    unsigned i = 0;

    while (i < CHANNEL_N_KINDS && strcmp(kinds[i].name, name) != 0)
        i++;
    return (enum channel_kind)i;
}

const char *channel_kind_takes(enum channel_kind kind)
{
    return kinds[kind].takes;
}

int64_t channel_kind_rate(enum channel_kind kind)
{
    return kinds[kind].rate;
}

/* What each kind knows ------------------------------------------------------------------------- */

enum field_type {
    FIELD_TEXT,
    FIELD_URL,    /* http or https */
    FIELD_CHOICE, /* one of `choices`, a blank between */
    FIELD_NUMBER,
    FIELD_FLAG,
    FIELD_TEXTS, /* array */
    FIELD_MAP    /* of texts */
};

struct field {
    const char *kinds; /* names with blanks around: " slack feishu " */
    const char *name;
    enum field_type type;
    bool required;
    const char *choices;
    int64_t min, max; /* of a number */
};

#define TRACKERS " gitlab github jira tapd "
#define FIELD_ROW(kinds, name, type, required) kinds, name, type, required, NULL, 0, 0

static const struct field setting_fields[] = {
    {FIELD_ROW(" alertmanager ", "url", FIELD_URL, true)},
    {FIELD_ROW(" gitlab github tapd ", "url", FIELD_URL, false)},
    {FIELD_ROW(" jira ", "url", FIELD_URL, true)},
    {FIELD_ROW(" alertmanager jira ", "username", FIELD_TEXT, false)},
    {FIELD_ROW(" tapd ", "username", FIELD_TEXT, true)},
    {FIELD_ROW(" alertmanager ", "labels", FIELD_MAP, false)},
    {" alertmanager ", "resend_s", FIELD_NUMBER, false, NULL, 5, 3600},
    {FIELD_ROW(" gitlab ", "project", FIELD_TEXT, true)},
    {FIELD_ROW(" gitlab ", "confidential", FIELD_FLAG, false)},
    {FIELD_ROW(" github ", "repository", FIELD_TEXT, true)},
    {FIELD_ROW(" jira ", "project", FIELD_TEXT, true)},
    {FIELD_ROW(" jira ", "issue_type", FIELD_TEXT, false)},
    {FIELD_ROW(" jira ", "reopen_transition", FIELD_TEXT, false)},
    {" jira ", "flavour", FIELD_CHOICE, false, "cloud server", 0, 0},
    {FIELD_ROW(" tapd ", "workspace", FIELD_TEXT, true)},
    {FIELD_ROW(" tapd ", "reporter", FIELD_TEXT, false)},
    {FIELD_ROW(" tapd ", "page_url", FIELD_URL, false)},
    {FIELD_ROW(" tapd ", "reopen_status", FIELD_TEXT, false)},
    {FIELD_ROW(" tapd ", "closed_statuses", FIELD_TEXTS, false)},
    {FIELD_ROW(TRACKERS, "labels", FIELD_TEXTS, false)},
    {FIELD_ROW(TRACKERS, "owners", FIELD_MAP, false)},
};

/* A webhook's URL is a secret: whoever has it may write there. */
static const struct field secret_fields[] = {
    {FIELD_ROW(" slack feishu dingtalk wecom webhook ticket_webhook ", "url", FIELD_URL, true)},
    {FIELD_ROW(" feishu dingtalk ", "key", FIELD_TEXT, false)},
    {FIELD_ROW(" webhook ticket_webhook ", "key", FIELD_TEXT, true)},
    {FIELD_ROW(" alertmanager ", "token", FIELD_TEXT, false)},
    {FIELD_ROW(" alertmanager ", "password", FIELD_TEXT, false)},
    {FIELD_ROW(" gitlab github jira ", "token", FIELD_TEXT, true)},
    {FIELD_ROW(" tapd ", "password", FIELD_TEXT, true)},
};

static bool is_of(const struct field *f, enum channel_kind kind)
{
    char name[40];

    snprintf(name, sizeof name, " %s ", kinds[kind].name);
    return strstr(f->kinds, name) != NULL;
}

static bool bad(struct err *err, const char *group, const char *name, const char *what)
{
    char field[64];

    snprintf(field, sizeof field, "%s.%s", group, name);
    return err_field(err, ERR_INVALID, field, "%s", what);
}

static bool is_text(const json_t *v, size_t max)
{
    const char *text = json_string_value(v);
    size_t n = json_string_length(v);

    return text && n >= 1 && n <= max && strlen(text) == n && utf8_is_tame(text, "");
}

static bool is_choice(const char *text, const char *choices)
{
    size_t n = strlen(text);

    for (const char *at = choices; (at = strstr(at, text)) != NULL; at++)
        if ((at == choices || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static bool are_texts(const json_t *v)
{
    size_t n = json_array_size(v);

    if (!json_is_array(v) || n > LABELS_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_text(json_array_get(v, i), TEXT_MAX))
            return false;
    return true;
}

static bool is_map(const json_t *v)
{
    const char *name;
    json_t *item;

    if (!json_is_object(v) || json_object_size(v) > OWNERS_MAX)
        return false;
    json_object_foreach((json_t *)(uintptr_t)v, name, item)
    {
        if (strlen(name) < 1 || strlen(name) > TEXT_MAX || !is_text(item, TEXT_MAX))
            return false;
    }
    return true;
}

static bool check_field(const struct field *f, const char *group, const json_t *v, size_t max,
                        struct arena *mem, struct err *err)
{
    const char *origin;

    switch (f->type) {
    case FIELD_FLAG:
        return json_is_boolean(v) || bad(err, group, f->name, "must be true or false");
    case FIELD_NUMBER:
        return (json_is_integer(v) && json_integer_value(v) >= f->min &&
                json_integer_value(v) <= f->max) ||
               bad(err, group, f->name, "is no whole number in its range");
    case FIELD_TEXTS:
        return are_texts(v) || bad(err, group, f->name, "must be an array of at most 16 texts");
    case FIELD_MAP:
        return is_map(v) || bad(err, group, f->name, "must be an object of texts");
    default:
        break;
    }
    if (!is_text(v, max))
        return bad(err, group, f->name, "must be a text without control characters");
    if (f->type == FIELD_CHOICE && !is_choice(json_string_value(v), f->choices))
        return bad(err, group, f->name, "is none of those known");
    if (f->type == FIELD_URL && !http_out_origin(json_string_value(v), mem, &origin, err))
        return bad(err, group, f->name,
                   "must be an http or https URL without user and password in it");
    /* it is shown, and only what stands before a query is used */
    if (f->type == FIELD_URL && strcmp(group, "settings") == 0 &&
        strpbrk(json_string_value(v), "?#"))
        return bad(err, group, f->name, "must be a URL without a query: secrets are given apart");
    return true;
}

static const struct field *find_field(const struct field *fields, size_t n, enum channel_kind kind,
                                      const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, name) == 0 && is_of(&fields[i], kind))
            return &fields[i];
    return NULL;
}

static bool check_group(const struct field *fields, size_t n, enum channel_kind kind,
                        const char *group, const json_t *object, size_t max, struct arena *mem,
                        struct err *err)
{
    const char *name;
    json_t *v;

    if (object && !json_is_object(object))
        return err_field(err, ERR_INVALID, group, "must be an object");
    json_object_foreach((json_t *)(uintptr_t)object, name, v)
    {
        const struct field *f = find_field(fields, n, kind, name);

        if (!f)
            return bad(err, group, "", "holds a name that this kind of channel does not know");
        if (!check_field(f, group, v, max, mem, err))
            return false;
    }
    for (size_t i = 0; i < n; i++)
        if (fields[i].required && is_of(&fields[i], kind) &&
            !json_object_get(object, fields[i].name))
            return bad(err, group, fields[i].name, "is required for this kind of channel");
    return true;
}

static const char *default_url(enum channel_kind kind)
{
    return kind == CHANNEL_GITLAB   ? "https://gitlab.com"
           : kind == CHANNEL_GITHUB ? "https://api.github.com"
                                    : "https://api.tapd.cn";
}

static bool check_more(enum channel_kind kind, const json_t *settings, struct err *err)
{
    const char *repository = json_string_value(json_object_get(settings, "repository"));
    const char *slash = repository ? strchr(repository, '/') : NULL;
    const char *flavour = json_string_value(json_object_get(settings, "flavour"));

    if (kind == CHANNEL_GITHUB &&
        (!slash || slash == repository || strchr(slash + 1, '/') || !slash[1]))
        return bad(err, "settings", "repository", "must be OWNER/NAME");
    if (kind == CHANNEL_JIRA && (!flavour || strcmp(flavour, "cloud") == 0) &&
        !json_object_get(settings, "username"))
        return bad(err, "settings", "username", "is required: Jira Cloud wants the token's e-mail");
    return true;
}

bool channel_check(enum channel_kind kind, const json_t *settings, const json_t *secrets,
                   struct arena *mem, const char **settings_text, const char **target,
                   struct err *err)
{
    const size_t n_settings = sizeof setting_fields / sizeof *setting_fields,
                 n_secrets = sizeof secret_fields / sizeof *secret_fields;
    const char *url;
    char *text;

    if (!check_group(setting_fields, n_settings, kind, "settings", settings, TEXT_MAX, mem, err) ||
        !check_group(secret_fields, n_secrets, kind, "secrets", secrets, SECRET_MAX, mem, err) ||
        !check_more(kind, settings, err))
        return false;
    url = json_string_value(json_object_get(settings, "url"));
    if (!url)
        url = json_string_value(json_object_get(secrets, "url"));
    if (!http_out_origin(url ? url : default_url(kind), mem, target, err))
        return false;
    text = settings ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS) : strdup("{}");
    *settings_text = text ? arena_dup(mem, text, strlen(text)) : NULL;
    free(text);
    return *settings_text || err_memory(err);
}

/* Secrets ------------------------------------------------------------------------------------- */

static const char *bound_to(int64_t app, enum channel_kind kind, const char *target,
                            struct arena *mem)
{
    char text[640];
    int n =
        snprintf(text, sizeof text, "channel %lld %s %s", (long long)app, kinds[kind].name, target);

    return (size_t)n < sizeof text ? arena_dup(mem, text, (size_t)n) : NULL;
}

bool channel_seal(const struct seal_key *key, int64_t app, enum channel_kind kind,
                  const char *target, const json_t *secrets, struct arena *mem, struct bytes *out,
                  struct err *err)
{
    const char *bound = bound_to(app, kind, target, mem);
    char *text;
    bool ok;

    *out = (struct bytes){(const unsigned char *)"", 0};
    if (json_object_size(secrets) == 0)
        return true;
    text = json_dumps(secrets, JSON_COMPACT | JSON_SORT_KEYS);
    ok = text && bound ? seal(key, bound, text, mem, out, err) : err_memory(err);
    free(text);
    return ok;
}

bool channel_unseal(const struct seal_key *key, int64_t app, enum channel_kind kind,
                    const char *target, struct bytes sealed, struct arena *mem, json_t **out,
                    struct err *err)
{
    const char *bound = bound_to(app, kind, target, mem), *text;

    if (!bound)
        return err_memory(err);
    if (!unseal(key, bound, sealed, mem, &text, err))
        return false;
    *out = *text ? json_loads(text, 0, NULL) : json_object();
    return *out || err_set(err, ERR_INTERNAL, "the channel's secrets are damaged");
}

void channel_close(struct channel *c)
{
    json_decref(c->settings);
    json_decref(c->secrets);
    c->settings = c->secrets = NULL;
}

/* What drivers read --------------------------------------------------------------------------- */

const char *channel_setting(const struct channel *c, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(c->settings, name));

    if (!text && strcmp(name, "url") == 0)
        return default_url(c->kind);
    return text ? text : otherwise;
}

bool channel_flag(const struct channel *c, const char *name)
{
    return json_is_true(json_object_get(c->settings, name));
}

int64_t channel_number(const struct channel *c, const char *name, int64_t otherwise)
{
    const json_t *v = json_object_get(c->settings, name);

    return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

const json_t *channel_tree(const struct channel *c, const char *name)
{
    return json_object_get(c->settings, name);
}

const char *channel_secret(const struct channel *c, const char *name)
{
    return json_string_value(json_object_get(c->secrets, name));
}

const char *channel_assignee(const struct channel *c, const char *owner)
{
    return owner && *owner ? json_string_value(json_object_get(channel_tree(c, "owners"), owner))
                           : NULL;
}

/* What is not to be shown: a list in an arena. */
struct secret {
    const struct secret *next;
    const char *text;
    size_t n;
};
struct secrets {
    const struct secret *first;
    struct arena *mem;
    bool full;
};

static void add_secret(struct secrets *to, const char *text, size_t n)
{
    struct secret *s = arena_array(to->mem, 1, sizeof *s);
    const char *copy = arena_dup(to->mem, text, n);

    if (!s || !copy) {
        to->full = true;
        return;
    }
    *s = (struct secret){to->first, copy, n};
    to->first = s;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* As it is, and as services print it that decode what they are sent. Not what is shorter than
 * `min`. */
static void add_part(struct secrets *to, const char *text, size_t n, size_t min)
{
    char plain[SECRET_MAX];
    size_t len = 0;

    if (n < min || n > sizeof plain)
        return;
    add_secret(to, text, n);
    for (size_t i = 0; i < n; i++) {
        int high = i + 2 < n ? hex_digit((char)tolower((unsigned char)text[i + 1])) : -1,
            low = high < 0 ? -1 : hex_digit((char)tolower((unsigned char)text[i + 2]));
        bool coded = text[i] == '%' && low >= 0;

        plain[len++] = coded ? (char)(high << 4 | low) : text[i];
        i += coded ? 2 : 0;
    }
    if (len < n && len >= min)
        add_secret(to, plain, len);
}

/* Services put into their errors what they were asked for, or the part of it that they did not
 * like: the path and query, a long part of the path, what the query says, a value of it. */
static void add_url(struct secrets *to, const char *url)
{
    const char *path = url + strcspn(url, ":"), *at = url, *query = strchr(url, '?');

    path += strncmp(path, "://", 3) == 0 ? 3 : 0;
    path += strcspn(path, "/?");
    add_part(to, path, strlen(path), REDACT_PART_MIN);
    while (*at && (!query || at < query)) {
        size_t n = strcspn(at, "/?");

        add_part(to, at, n, REDACT_PART_MIN);
        at += n + (at[n] ? 1 : 0);
    }
    for (at = query ? query + 1 : ""; *at;) {
        size_t n = strcspn(at, "&#"), name = strcspn(at, "=");

        add_part(to, at, n, REDACT_MIN);
        if (name < n)
            add_part(to, at + name + 1, n - name - 1, REDACT_MIN);
        at += n + (at[n] ? 1 : 0);
    }
}

static struct secrets secrets_of(const struct channel *c, struct arena *mem)
{
    struct secrets out = {.mem = mem};
    const char *name;
    json_t *v;

    json_object_foreach(c->secrets, name, v)
    {
        const char *text = json_string_value(v);

        if (!text)
            continue;
        add_part(&out, text, strlen(text), REDACT_MIN);
        if (strcmp(name, "url") == 0)
            add_url(&out, text);
    }
    return out;
}

/* Bytes at `at` that are a secret, the longest there. 0: none. */
static size_t secret_at(const struct secrets *secrets, const char *at)
{
    size_t n = 0;

    for (const struct secret *s = secrets->first; s; s = s->next)
        if (s->n > n && strncmp(at, s->text, s->n) == 0)
            n = s->n;
    return n;
}

const char *channel_redact(const struct channel *c, const char *text, struct arena *mem)
{
    const struct secrets secrets = secrets_of(c, mem);
    struct buf b;
    const char *out;

    if (secrets.full)
        return "";
    buf_init(&b, 65536);
    while (*text) {
        size_t n = secret_at(&secrets, text);

        if (n)
            buf_text(&b, "***");
        else
            buf_byte(&b, (uint8_t)*text);
        text += n ? n : 1;
    }
    out = buf_keep(&b, mem);
    buf_fini(&b);
    return out ? out : "";
}
