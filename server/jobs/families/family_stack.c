#include "server/jobs/families/family_stack.h"

static const struct db_col stack_cols[] = {
    DB_COL(family_stack, hash),   DB_COL(family_stack, kind),    DB_COL(family_stack, platform),
    DB_COL(family_stack, events), DB_COL(family_stack, title),   DB_COL(family_stack, class),
    DB_COL(family_stack, state),  DB_COL(family_stack, symbols), DB_COL(family_stack, frames),
};
const struct db_map family_stack_map = DB_MAP(family_stack, stack_cols);

bool family_stack_largest(struct db *db, int64_t app, struct bytes family, struct arena *mem,
                          const struct family_stack **out, struct err *err)
{
    struct db_rows rows;

    if (!db_all(
            db, Q_FAMILY_STACKS,
            DB_ARGS(db_i64(app), db_bytes(family.at, family.len), db_null(), db_null(), db_i64(1)),
            &family_stack_map, mem, &rows, err))
        return false;
    *out = rows.n ? rows.at : NULL;
    return true;
}
