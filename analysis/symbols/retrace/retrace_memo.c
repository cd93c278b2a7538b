#include "symbols/retrace/retrace_memo.h"
#include "base/buf.h"
#include "symbols/retrace/retrace_format.h"

#include <stdlib.h>

#define SLOTS (1u << 15) /* a later line displaces an earlier one */
#define LENGTH_MAX UINT16_MAX

struct slot {
    uint32_t hash, at; /* of the line in `text`, + 1; the output follows it */
    uint32_t len, out_len;
};

struct retrace_memo {
    struct buf text;
    struct slot slots[SLOTS];
};

struct retrace_memo *retrace_memo_new(void)
{
    struct retrace_memo *m = calloc(1, sizeof *m);

    if (m)
        buf_init(&m->text, RETRACE_MEMO_BYTES);
    return m;
}

void retrace_memo_free(struct retrace_memo *m)
{
    if (!m)
        return;
    buf_fini(&m->text);
    free(m);
}

bool retrace_memo_find(const struct retrace_memo *m, const char *line, size_t len, const char **out,
                       size_t *out_len)
{
    uint32_t hash = retrace_hash(line, len);
    const struct slot *s = &m->slots[hash % SLOTS];

    if (!s->at || s->hash != hash || s->len != len ||
        memcmp(m->text.at + s->at - 1, line, len) != 0)
        return false;
    *out = (const char *)m->text.at + s->at - 1 + len;
    *out_len = s->out_len;
    return true;
}

void retrace_memo_keep(struct retrace_memo *m, const char *line, size_t len, const char *out,
                       size_t out_len)
{
    uint32_t hash = retrace_hash(line, len);

    if (len > LENGTH_MAX || out_len > LENGTH_MAX)
        return;
    if (m->text.len + len + out_len > RETRACE_MEMO_BYTES) {
        memset(m->slots, 0, sizeof m->slots);
        buf_reset(&m->text);
    }

    size_t at = m->text.len;

    buf_put(&m->text, line, len);
    buf_put(&m->text, out, out_len);
    if (buf_ok(&m->text))
        m->slots[hash % SLOTS] =
            (struct slot){hash, (uint32_t)at + 1, (uint32_t)len, (uint32_t)out_len};
}
