/* framewatch app create|list: the games whose sessions a database keeps. */
#include "admin.h"

#include <string.h>

struct app_row {
    int64_t id, keys;
    const char *name, *created_at;
};
static const struct db_col new_cols[] = {DB_COL(app_row, id)};
static const struct db_map new_map = DB_MAP(app_row, new_cols);
static const struct db_col app_cols[] = {DB_COL(app_row, id), DB_COL(app_row, keys),
                                         DB_COL(app_row, name), DB_COL(app_row, created_at)};
static const struct db_map app_map = DB_MAP(app_row, app_cols);

/* As the table's CHECK has it. */
static bool name_is_right(const char *name, struct err *err)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = strlen(name);

    if (n >= 1 && n <= 64 && strchr(first, name[0]) &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n)
        return true;
    return err_field(err, ERR_INVALID, "NAME",
                     "is 1 to 64 of a-z 0-9 . _ - and begins with a letter or digit");
}

static bool create(struct admin *a, const char *name, bool if_missing, struct err *err)
{
    struct app_row row;

    if (!db_begin(a->db, err))
        return false;
    if (!db_one(a->db, Q_APP_CREATE, DB_ARGS(db_text(name)), &new_map, a->mem, &row, err)) {
        db_rollback(a->db);
        if (err->code != ERR_NOT_FOUND)
            return false;
        return if_missing || err_set(err, ERR_CONFLICT, "there is an app '%s' already", name);
    }
    if (admin_audit(a, row.id, "app.create", "{}", err) && db_commit(a->db, err))
        return true;
    db_rollback(a->db);
    return false;
}

static int app_create(int argc, char **argv)
{
    const char *db = NULL;
    bool if_missing = false;
    const struct cli_option options[] = {
        OPT_DB(&db), OPT_FLAG("if-missing", &if_missing, "an app of that name is fine as it is"),
        OPT_END};
    const struct cli_usage usage = {
        "app create", "NAME", "Makes an app; then make keys for it with `framewatch key create`.",
        options,      1,      1};
    struct cli_args args;
    struct admin a;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!name_is_right(args.at[0], &err)) {
        cli_fail(&err);
        return CLI_USAGE;
    }
    if (!admin_open(&a, db, &err))
        return cli_fail(&err);
    code = create(&a, args.at[0], if_missing, &err) ? CLI_OK : cli_fail(&err);
    admin_close(&a);
    return code;
}

static bool print_apps(struct admin *a, struct err *err)
{
    struct db_rows rows;

    if (!db_all(a->db, Q_APP_LIST, DB_NO_ARGS, &app_map, a->mem, &rows, err))
        return false;
    printf("%-6s %-32s %6s  %s\n", "ID", "NAME", "KEYS", "CREATED");
    for (size_t i = 0; i < rows.n; i++) {
        const struct app_row *row = (const struct app_row *)rows.at + i;

        printf("%-6lld %-32s %6lld  %s\n", (long long)row->id, row->name, (long long)row->keys,
               row->created_at);
    }
    return true;
}

static int app_list(int argc, char **argv)
{
    const char *db = NULL;
    const struct cli_option options[] = {OPT_DB(&db), OPT_END};
    const struct cli_usage usage = {"app list", "", "Prints the apps and their keys in force.",
                                    options,    0,  0};
    struct cli_args args;
    struct admin a;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!admin_open(&a, db, &err))
        return cli_fail(&err);
    code = print_apps(&a, &err) ? CLI_OK : cli_fail(&err);
    admin_close(&a);
    return code;
}

int cmd_app(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"create", "make an app", app_create},
        {"list", "print the apps", app_list},
    };

    return cli_dispatch("framewatch app", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
