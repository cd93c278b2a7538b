#include "server/db/partition.h"

bool partition_ensure(struct db *db, int days_ahead, struct err *err)
{
    if (days_ahead < 0 || days_ahead > 366)
        return err_set(err, ERR_INVALID, "partitions: %d days ahead is outside 0..366", days_ahead);
    return db_exec(db, Q_PARTITION_ENSURE, DB_ARGS(db_i64(days_ahead)), err);
}
