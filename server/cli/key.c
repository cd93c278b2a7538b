/* framewatch key create|list|revoke. A key is fw_ROLE_ and 43 letters that are 32 random bytes; the
 * database keeps its SHA-256 and its first letters only, so it is printed once and never again. */
#include "admin.h"

#include "base/base64url.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RANDOM_BYTES 32
#define KEY_BYTES 64  /* "fw_ingest_", 43 letters, NUL */
#define HINT_SECRET 4 /* letters of the secret part that tell keys apart in lists */
#define ID_DIGITS 12  /* of the hash: what `key list` calls a key */
#define MAX_LABEL 128

struct key_row {
    struct bytes key_hash;
    const char *role, *hint, *label, *created_at, *revoked_at;
};
static const struct db_col key_cols[] = {
    DB_COL(key_row, key_hash), DB_COL(key_row, role),       DB_COL(key_row, hint),
    DB_COL(key_row, label),    DB_COL(key_row, created_at), DB_COL(key_row, revoked_at),
};
static const struct db_map key_map = DB_MAP(key_row, key_cols);

static bool make_key(const char *role, char key[KEY_BYTES], struct err *err)
{
    unsigned char random[RANDOM_BYTES];
    char text[BASE64URL_LEN(RANDOM_BYTES) + 1];

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(err, ERR_INTERNAL, "the system gives no random bytes");
    base64url_encode(random, sizeof random, text);
    snprintf(key, KEY_BYTES, "fw_%s_%s", role, text);
    explicit_bzero(random, sizeof random);
    explicit_bzero(text, sizeof text);
    return true;
}

/* {"key": ID, "role": …}: both are made of letters that need no escaping. */
static bool audit_key(struct admin *a, int64_t app, const char *action, const void *hash,
                      const char *role, struct err *err)
{
    char id[2 * SHA256_BYTES + 1], detail[128];

    to_hex(hash, SHA256_BYTES, id);
    snprintf(detail, sizeof detail, "{\"key\": \"%.*s\", \"role\": \"%s\"}", ID_DIGITS, id, role);
    return admin_audit(a, app, action, detail, err);
}

static int wrong(const struct err *err)
{
    cli_fail(err);
    return CLI_USAGE;
}

static bool app_is_given(const char *app, struct err *err)
{
    return app || err_set(err, ERR_INVALID, "which app? Give --app NAME");
}

struct new_key {
    const char *app, *role, *label;
};

static bool store_key(struct admin *a, const struct new_key *k, const char *key, struct err *err)
{
    unsigned char hash[SHA256_BYTES];
    char hint[KEY_BYTES];
    int64_t app;

    sha256(key, strlen(key), hash);
    snprintf(hint, sizeof hint, "%.*s", (int)strlen(k->role) + 4 + HINT_SECRET, key);
    if (!admin_app(a, k->app, &app, err) || !db_begin(a->db, err))
        return false;
    if (db_exec(a->db, Q_APIKEY_ADMIN_CREATE,
                DB_ARGS(db_bytes(hash, sizeof hash), db_i64(app), db_text(k->role), db_text(hint),
                        db_text(k->label)),
                err) &&
        audit_key(a, app, "key.create", hash, k->role, err) && db_commit(a->db, err))
        return true;
    db_rollback(a->db);
    return false;
}

static bool check_new(const struct new_key *k, struct err *err)
{
    if (!app_is_given(k->app, err))
        return false;
    if (!k->role || (strcmp(k->role, "ingest") != 0 && strcmp(k->role, "read") != 0 &&
                     strcmp(k->role, "admin") != 0))
        return err_set(err, ERR_INVALID, "give --role ingest, read or admin");
    if (strlen(k->label) > MAX_LABEL)
        return err_set(err, ERR_INVALID, "the label is longer than %d bytes", MAX_LABEL);
    return true;
}

static int key_create(int argc, char **argv)
{
    const char *db = NULL;
    struct new_key k = {.label = ""};
    const struct cli_option options[] = {
        OPT_DB(&db), OPT_TEXT("app", "NAME", &k.app, "whose data the key opens"),
        OPT_TEXT("role", "ROLE", &k.role, "ingest (games), read (people), admin (CI, operators)"),
        OPT_TEXT("label", "TEXT", &k.label, "to remember it by"), OPT_END};
    const struct cli_usage usage = {
        "key create",
        "",
        "Makes an API key and prints it, this once: the database keeps only its hash.",
        options,
        0,
        0};
    char key[KEY_BYTES];
    struct cli_args args;
    struct admin a;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!check_new(&k, &err))
        return wrong(&err);
    if (!make_key(k.role, key, &err) || !admin_open(&a, db, &err))
        return cli_fail(&err);
    if (store_key(&a, &k, key, &err))
        printf("%s\n", key);
    else
        code = cli_fail(&err);
    explicit_bzero(key, sizeof key);
    admin_close(&a);
    return err.code ? code : CLI_OK;
}

static bool load_keys(struct admin *a, const char *app_name, int64_t *app, struct db_rows *rows,
                      struct err *err)
{
    return admin_app(a, app_name, app, err) &&
           db_all(a->db, Q_APIKEY_ADMIN_LIST, DB_ARGS(db_i64(*app)), &key_map, a->mem, rows, err);
}

static bool print_keys(struct admin *a, const char *app_name, struct err *err)
{
    struct db_rows rows;
    int64_t app;

    if (!load_keys(a, app_name, &app, &rows, err))
        return false;
    printf("%-12s  %-6s  %-15s  %-20s  %-20s  %s\n", "ID", "ROLE", "BEGINS", "CREATED", "REVOKED",
           "LABEL");
    for (size_t i = 0; i < rows.n; i++) {
        const struct key_row *row = (const struct key_row *)rows.at + i;
        char id[2 * SHA256_BYTES + 1];

        to_hex(row->key_hash.at, row->key_hash.len, id);
        printf("%.*s  %-6s  %-15s  %-20s  %-20s  %s\n", ID_DIGITS, id, row->role, row->hint,
               row->created_at, row->revoked_at ? row->revoked_at : "-", row->label);
    }
    return true;
}

static int key_list(int argc, char **argv)
{
    const char *db = NULL, *app = NULL;
    const struct cli_option options[] = {OPT_DB(&db), OPT_TEXT("app", "NAME", &app, "whose keys"),
                                         OPT_END};
    const struct cli_usage usage = {
        "key list", "", "Prints an app's keys: id, role, first letters; never the key.",
        options,    0,  0};
    struct cli_args args;
    struct admin a;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!app_is_given(app, &err))
        return wrong(&err);
    if (!admin_open(&a, db, &err))
        return cli_fail(&err);
    code = print_keys(&a, app, &err) ? CLI_OK : cli_fail(&err);
    admin_close(&a);
    return code;
}

/* `id` begins the key's hash, or is all of its hint. */
static bool is_named(const struct key_row *row, const char *id)
{
    char hash[2 * SHA256_BYTES + 1];
    size_t len = strlen(id);

    to_hex(row->key_hash.at, row->key_hash.len, hash);
    return (len >= 6 && len <= 2 * SHA256_BYTES && strncmp(hash, id, len) == 0) ||
           strcmp(row->hint, id) == 0;
}

static bool find_key(const struct db_rows *rows, const char *id, const struct key_row **out,
                     struct err *err)
{
    size_t found = 0;

    for (size_t i = 0; i < rows->n; i++) {
        const struct key_row *row = (const struct key_row *)rows->at + i;

        if (!is_named(row, id))
            continue;
        *out = row;
        found++;
    }
    if (found != 1)
        return err_set(err, ERR_NOT_FOUND,
                       "%zu keys of the app are called so; give the id that `key list` prints",
                       found);
    return (*out)->revoked_at
               ? err_set(err, ERR_CONFLICT, "it was revoked at %s", (*out)->revoked_at)
               : true;
}

static bool revoke(struct admin *a, const char *app_name, const char *id, struct err *err)
{
    const struct key_row *row = NULL;
    struct db_rows rows;
    int64_t app;

    if (!load_keys(a, app_name, &app, &rows, err) || !find_key(&rows, id, &row, err) ||
        !db_begin(a->db, err))
        return false;
    if (db_exec(a->db, Q_APIKEY_ADMIN_REVOKE,
                DB_ARGS(db_i64(app), db_bytes(row->key_hash.at, row->key_hash.len)), err) &&
        audit_key(a, app, "key.revoke", row->key_hash.at, row->role, err) && db_commit(a->db, err))
        return true;
    db_rollback(a->db);
    return false;
}

static int key_revoke(int argc, char **argv)
{
    const char *db = NULL, *app = NULL;
    const struct cli_option options[] = {OPT_DB(&db), OPT_TEXT("app", "NAME", &app, "whose key"),
                                         OPT_END};
    const struct cli_usage usage = {
        "key revoke", "ID", "Revokes a key for good; servers notice within seconds.",
        options,      1,    1};
    struct cli_args args;
    struct admin a;
    struct err err = {0};
    int code;

    if (!cli_parse(&usage, argc, argv, &args, &code))
        return code;
    if (!app_is_given(app, &err))
        return wrong(&err);
    if (!admin_open(&a, db, &err))
        return cli_fail(&err);
    code = revoke(&a, app, args.at[0], &err) ? CLI_OK : cli_fail(&err);
    admin_close(&a);
    return code;
}

int cmd_key(int argc, char **argv)
{
    static const struct cli_command verbs[] = {
        {"create", "make an API key and print it", key_create},
        {"list", "print the keys of an app", key_list},
        {"revoke", "revoke a key", key_revoke},
    };

    return cli_dispatch("framewatch key", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
