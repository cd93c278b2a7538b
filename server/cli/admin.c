#include "admin.h"

#include "server/db/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PASSWORD 1024
#define ADMIN_BYTES ((size_t)16 << 20)

/* libpq takes the password from the environment; it never enters a conninfo, which errors may show.
 */
static bool read_password(const char *path, struct err *err)
{
    char text[MAX_PASSWORD + 2] = "";
    FILE *f = fopen(path, "re");

    if (!f)
        return err_set(err, ERR_INVALID, "cannot read FW_DB_PASSWORD_FILE: %s", strerror(errno));

    size_t n = fread(text, 1, sizeof text - 1, f);

    fclose(f);
    text[strcspn(text, "\r\n")] = '\0';

    bool ok = n <= MAX_PASSWORD && text[0] && setenv("PGPASSWORD", text, 1) == 0;

    explicit_bzero(text, sizeof text);
    return ok || err_set(err, ERR_INVALID, "FW_DB_PASSWORD_FILE holds no password");
}

bool admin_open(struct admin *a, const char *conninfo, struct err *err)
{
    const char *given = conninfo ? conninfo : getenv("FW_DB");
    const char *password_file = getenv("FW_DB_PASSWORD_FILE");

    *a = (struct admin){NULL, NULL};
    if (!given || !*given)
        return err_set(err, ERR_INVALID, "which database? Give --db CONNINFO or set FW_DB");
    if (password_file && *password_file && !read_password(password_file, err))
        return false;
    a->mem = arena_new(ADMIN_BYTES);
    if (!a->mem)
        return err_memory(err);
    a->db = db_open(given, err);
    if (a->db && migrate_check(a->db, err))
        return true;
    admin_close(a);
    return false;
}

void admin_close(struct admin *a)
{
    db_close(a->db);
    arena_free(a->mem);
    *a = (struct admin){NULL, NULL};
}

struct id_row {
    int64_t id;
};
static const struct db_col id_cols[] = {DB_COL(id_row, id)};
static const struct db_map id_map = DB_MAP(id_row, id_cols);

bool admin_app(struct admin *a, const char *name, int64_t *id, struct err *err)
{
    struct id_row row;

    if (!db_one(a->db, Q_APP_FIND, DB_ARGS(db_text(name)), &id_map, a->mem, &row, err))
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no app '%.64s'", name)
                                          : false;
    *id = row.id;
    return true;
}

bool admin_audit(struct admin *a, int64_t app, const char *action, const char *detail,
                 struct err *err)
{
    return db_exec(a->db, Q_AUDIT_ADD,
                   DB_ARGS(db_i64(app), db_text("cli"), db_text(action), db_text(detail)), err);
}
