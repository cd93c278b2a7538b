#include "server/db/migrate.h"
#include "support/pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct db *open_db(const char *conninfo)
{
    struct err err;
    struct db *db = db_open(conninfo, &err);

    if (!db)
        fail_msg("%s", err.text);
    return db;
}

static void an_empty_database_is_migrated_once(void **state)
{
    char conninfo[PG_CONNINFO_BYTES];
    unsigned applied = 0;
    struct err err;

    (void)state;
    pg_empty_db(conninfo);

    struct db *db = open_db(conninfo);

    assert_true(migrate_run(db, &applied, &err));
    assert_true(applied >= 2);
    assert_true(migrate_run(db, &applied, &err));
    assert_int_equal(applied, 0);
    assert_true(migrate_check(db, &err));
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_database_is_migrated_once),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
