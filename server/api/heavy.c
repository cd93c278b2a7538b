#include "server/api/heavy.h"

#include <stdatomic.h>

static atomic_uint at_work;

bool heavy_enter(struct err *err)
{
    if (atomic_fetch_add(&at_work, 1) < HEAVY_AT_ONCE)
        return true;
    heavy_leave();
    return err_set(err, ERR_CROWDED, "%d answers of this kind are being made; ask again soon",
                   HEAVY_AT_ONCE);
}

void heavy_leave(void)
{
    atomic_fetch_sub(&at_work, 1);
}
