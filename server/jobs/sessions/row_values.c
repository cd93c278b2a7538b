#include "server/jobs/sessions/row_values.h"

#include <string.h>

const char *row_text_take(struct buf *text, struct arena *mem)
{
    const char *copy =
        buf_ok(text) ? arena_dup(mem, text->at ? (const char *)text->at : "", text->len) : NULL;

    buf_fini(text);
    return copy;
}

const char *row_text_copy(const char *text, struct arena *mem)
{
    return arena_dup(mem, row_text(text), strlen(row_text(text)));
}

bool rows_too_big(struct err *err)
{
    return err_set(err, ERR_TOO_BIG, "the session's rows are too big together");
}
