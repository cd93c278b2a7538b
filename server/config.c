#include "server/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 2048

enum setting_type { SETTING_TEXT, SETTING_INT, SETTING_CHOICE };

struct setting {
    const char *group; /* of those that follow, or NULL */
    const char *name;
    enum setting_type type;
    size_t offset;
    const char *otherwise, *choices, *help;
    int64_t otherwise_i64, min, max;
};

static const struct setting settings[] = {
#define GROUP(title) {.group = title},
#define TEXT(id, v, text)                                                                          \
    {.name = #id,                                                                                  \
     .type = SETTING_TEXT,                                                                         \
     .offset = offsetof(struct config, id),                                                        \
     .otherwise = v,                                                                               \
     .help = text},
#define INT(id, v, low, high, text)                                                                \
    {.name = #id,                                                                                  \
     .type = SETTING_INT,                                                                          \
     .offset = offsetof(struct config, id),                                                        \
     .otherwise_i64 = v,                                                                           \
     .min = low,                                                                                   \
     .max = high,                                                                                  \
     .help = text},
#define CHOICE(id, v, all, text)                                                                   \
    {.name = #id,                                                                                  \
     .type = SETTING_CHOICE,                                                                       \
     .offset = offsetof(struct config, id),                                                        \
     .otherwise = v,                                                                               \
     .choices = all,                                                                               \
     .help = text},
    CONFIG_TABLE(GROUP, TEXT, INT, CHOICE)
#undef GROUP
#undef TEXT
#undef INT
#undef CHOICE
};
#define N_SETTINGS (sizeof settings / sizeof *settings)

static bool set_text(char *field, size_t size, const char *value, const char *where,
                     struct err *err)
{
    if (strlen(value) >= size)
        return err_field(err, ERR_INVALID, where, "%s: longer than %zu bytes", where, size - 1);
    memcpy(field, value, strlen(value) + 1);
    return true;
}

static bool set_int(const struct setting *s, int64_t *field, const char *value, const char *where,
                    struct err *err)
{
    char *end;

    errno = 0;
    long long v = strtoll(value, &end, 10);

    if (end == value || *end || errno || v < s->min || v > s->max)
        return err_field(err, ERR_INVALID, where,
                         "%s: \"%s\" is not a whole number of %" PRId64 " to %" PRId64, where,
                         value, s->min, s->max);
    *field = v;
    return true;
}

static bool set_choice(const struct setting *s, char *field, const char *value, const char *where,
                       struct err *err)
{
    size_t n = strlen(value);

    for (const char *at = s->choices; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");

        if (len == n && memcmp(at, value, n) == 0) {
            memcpy(field, value, n + 1);
            return true;
        }
        at += len;
    }
    return err_field(err, ERR_INVALID, where, "%s: \"%s\" is none of: %s", where, value,
                     s->choices);
}

static bool same_name(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(a[i] == '_' && b[i] == '-'))
            return false;
    return a[n] == '\0';
}

static const struct setting *find(const char *name, size_t n)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (settings[i].name && strlen(settings[i].name) == n &&
            same_name(settings[i].name, name, n))
            return &settings[i];
    return NULL;
}

static bool set(struct config *c, const struct setting *s, const char *value, const char *where,
                struct err *err)
{
    void *field = (char *)c + s->offset;

    switch (s->type) {
    case SETTING_TEXT:
        return set_text(field, CONFIG_TEXT_MAX, value, where, err);
    case SETTING_INT:
        return set_int(s, field, value, where, err);
    case SETTING_CHOICE:
        return set_choice(s, field, value, where, err);
    }
    return false;
}

bool config_set(struct config *c, const char *name, const char *value, const char *where,
                struct err *err)
{
    const struct setting *s = find(name, strlen(name));

    return s ? set(c, s, value, where, err)
             : err_field(err, ERR_INVALID, where, "%s: there is no setting \"%s\"", where, name);
}

void config_default(struct config *c)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        void *field = (char *)c + settings[i].offset;

        if (!settings[i].name)
            continue;
        if (settings[i].type == SETTING_INT)
            *(int64_t *)field = settings[i].otherwise_i64;
        else
            memcpy(field, settings[i].otherwise, strlen(settings[i].otherwise) + 1);
    }
}

static char *trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = '\0';
    return text;
}

static bool read_line(struct config *c, char *line, const char *where, struct err *err)
{
    char *name = trim(line), *value = strchr(name, '=');

    if (!*name || *name == '#')
        return true;
    if (!value)
        return err_field(err, ERR_INVALID, where, "%s: a line is \"name = value\"", where);
    *value++ = '\0';
    return config_set(c, trim(name), trim(value), where, err);
}

bool config_read_file(struct config *c, const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");
    char line[LINE_MAX_BYTES], where[CONFIG_TEXT_MAX + 16];
    bool ok = true;

    if (!f)
        return err_field(err, ERR_INVALID, "config", "cannot read %s: %s", path, strerror(errno));
    for (unsigned n = 1; ok && fgets(line, sizeof line, f); n++) {
        snprintf(where, sizeof where, "%s:%u", path, n);
        if (!strchr(line, '\n') && !feof(f))
            ok = err_field(err, ERR_INVALID, "config", "%s: the line is too long", where);
        else
            ok = read_line(c, line, where, err);
    }
    fclose(f);
    return ok;
}

/* "FW_LISTEN=…" of the environment is the setting "listen". */
static bool read_env(struct config *c, char **env, struct err *err)
{
    for (; *env; env++) {
        const char *value = strchr(*env, '=');
        char name[64], where[80];
        size_t n = value ? (size_t)(value - *env) : 0;

        if (n < 4 || n - 3 >= sizeof name || strncmp(*env, "FW_", 3) != 0)
            continue;
        for (size_t i = 3; i <= n; i++) {
            char ch = i < n ? (*env)[i] : '\0';

            name[i - 3] = ch >= 'A' && ch <= 'Z' ? (char)(ch - 'A' + 'a') : ch;
        }
        const struct setting *s = find(name, n - 3);

        snprintf(where, sizeof where, "%.*s", (int)n, *env);
        if (s && !set(c, s, value + 1, where, err)) /* other FW_ variables are not ours */
            return false;
    }
    return true;
}

static bool read_args(struct config *c, int argc, char **argv, bool *help, struct err *err)
{
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *value = strchr(arg, '=');

        if (strcmp(arg, "--help") == 0) {
            *help = true;
            continue;
        }
        if (strncmp(arg, "--", 2) != 0 || !value)
            return err_field(err, ERR_INVALID, arg, "%s: options are --name=value", arg);

        char name[64], where[80];

        snprintf(name, sizeof name, "%.*s", (int)(value - arg - 2), arg + 2);
        snprintf(where, sizeof where, "--%s", name);
        if (strcmp(name, "config") != 0 && !config_set(c, name, value + 1, where, err))
            return false;
    }
    return true;
}

static const char *config_path(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "--config=", 9) == 0)
            return argv[i] + 9;
    return NULL;
}

bool config_load(struct config *c, int argc, char **argv, char **env, bool *help, struct err *err)
{
    const char *path = config_path(argc, argv);

    *help = false;
    config_default(c);
    return (!path || config_read_file(c, path, err)) && read_env(c, env, err) &&
           read_args(c, argc, argv, help, err);
}

/* Help and documentation ------------------------------------------------------------------------
 */

static void put_default(struct buf *b, const struct setting *s)
{
    if (s->type == SETTING_INT)
        buf_i64(b, s->otherwise_i64);
    else
        buf_text(b, s->otherwise);
}

static void put_values(struct buf *b, const struct setting *s)
{
    if (s->type == SETTING_INT)
        buf_printf(b, "%" PRId64 " to %" PRId64, s->min, s->max);
    else if (s->type == SETTING_CHOICE)
        buf_text(b, s->choices);
    else
        buf_text(b, "text");
}

void config_write_help(struct buf *b)
{
    buf_text(b, "framewatchd [--name=value …]      serve and work\n"
                "framewatchd migrate [--name=…]    bring the database to this version's schema\n"
                "framewatchd healthcheck [--name=…]  ask the server of this configuration whether\n"
                "                                  it is ready; exit code 0 if so\n"
                "framewatchd version\n\n"
                "Settings: as --name=value, as FW_NAME in the environment, or as \"name = value\"\n"
                "in the file named by --config=PATH; the first of these counts.\n");
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const struct setting *s = &settings[i];

        if (s->group) {
            buf_printf(b, "\n%s\n", s->group);
            continue;
        }
        buf_printf(b, "  --%s=", s->name);
        put_default(b, s);
        buf_text(b, "  (");
        put_values(b, s);
        buf_printf(b, ")\n        %s\n", s->help);
    }
}

void config_write_docs(struct buf *b)
{
    buf_text(
        b, "# Configuration of framewatchd\n\n"
           "Written from the table in `server/config.h`; a test keeps the two alike.\n\n"
           "A setting is given as `--name=value`, as `FW_NAME` in the environment, or as a\n"
           "line `name = value` of the file named by `--config=PATH`. The first of these that has\n"
           "it counts. Dashes and underscores in names are the same.\n");
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const struct setting *s = &settings[i];

        if (s->group) {
            buf_printf(b,
                       "\n## %s\n\n| setting | default | values | meaning |\n|---|---|---|---|\n",
                       s->group);
            continue;
        }
        buf_printf(b, "| `%s` | ", s->name);
        if (s->type == SETTING_INT || *s->otherwise) {
            buf_text(b, "`");
            put_default(b, s);
            buf_text(b, "`");
        }
        buf_text(b, " | ");
        put_values(b, s);
        buf_printf(b, " | %s |\n", s->help);
    }
}
