#include "src/control/managed.h"

#include "src/clock.h"
#include "src/scrub.h"
#include "src/thread.h"

#include <string.h>

#define INPUT_BYTES 1024u   /* of one text; what is behind them is not read */
#define MAP_ID "r8-map-id-" /* names the mapping: digits that tell no person */
#define SLOW_NS (FW_MANAGED_SLOW_MS * 1000000ull)

/* What the game is asked for now, and by whom; NULL and 0 between two calls. */
static _Atomic(fw_managed_stack *) asked;
static _Atomic uintptr_t asker;

/* A callback that kept the stack of an earlier call, or runs on another of the SDK's threads
 * meanwhile, adds nothing. A thread of the game's may, while the call waits for it. */
static bool may_add(const fw_managed_stack *stack)
{
    return stack && stack == atomic_load(&asked) &&
           (!fw_thread_is_own() || fw_thread_id() == atomic_load(&asker));
}

bool fw_managed_start(struct fw_managed *m, const struct fw_allocator *memory)
{
    if (m->call)
        m->stack = fw_alloc_zeroed(memory, sizeof *m->stack);
    return !m->call || m->stack;
}

void fw_managed_stop(struct fw_managed *m, const struct fw_allocator *memory)
{
    fw_release(memory, m->stack);
    m->stack = NULL;
}

bool fw_managed_wanted(const struct fw_managed *m)
{
    return m->stack && !atomic_load(&m->off_reason);
}

/* Control characters, those of C1 included, are blanks. */
static void copy_plain(char *out, const char *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)in[i];
        bool c1 = c == 0xc2 && i + 1 < n && ((unsigned char)in[i + 1] & 0xe0) == 0x80;

        out[i] = c < 0x20 || c == 0x7f || c1 ? ' ' : in[i];
        if (c1)
            out[++i] = ' ';
    }
    out[n] = 0;
}

static size_t hex_digits(const char *text)
{
    return strspn(text, "0123456789abcdefABCDEF");
}

static void scrub(char *text, char *out, size_t size)
{
    char *id = strstr(text, MAP_ID);
    size_t n = id ? sizeof MAP_ID - 1 + hex_digits(id + sizeof MAP_ID - 1) : 0, len;
    char kept[FW_MANAGED_FRAME_BYTES + 1];

    if (!id || n >= sizeof kept) {
        fw_scrub(text, out, size);
        return;
    }
    memcpy(kept, id, n);
    *id = 0;
    fw_scrub(text, out, size);
    len = strlen(out);
    if (len + n >= size)
        return;
    memcpy(out + len, kept, n);
    fw_scrub(id + n, out + len + n, size - len - n);
}

/* Bytes of the text without a character that was cut within. */
static size_t whole_characters(const char *text, size_t n, size_t max)
{
    if (n <= max)
        return n;
    for (n = max; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

/* As a runtime prints a frame: "\tat x". */
static const char *strip_lead(const char *text)
{
    text += strspn(text, " ");
    if (strncmp(text, "at ", 3) == 0)
        text += 3;
    return text + strspn(text, " ");
}

/* The innermost function is native code, so the native frames are further in. */
static bool is_native(fw_managed_kind kind, const char *text)
{
    switch (kind) {
    case FW_MANAGED_JAVA:
        return strstr(text, "(Native Method)");
    case FW_MANAGED_CSHARP:
        return strncmp(text, "(wrapper managed-to-native)", 27) == 0;
    case FW_MANAGED_LUA:
        return strncmp(text, "[C]", 3) == 0;
    }
    return false;
}

void fw_managed_frame(fw_managed_stack *stack, fw_managed_kind kind, const char *text)
{
    char plain[INPUT_BYTES + 1], clean[FW_MANAGED_FRAME_BYTES + 4];
    struct fw_desk_texts *t;
    size_t n;

    if (!text || !may_add(stack) || stack->full)
        return;
    t = &stack->texts;
    copy_plain(plain, text, strnlen(text, INPUT_BYTES));
    memmove(plain, strip_lead(plain), strlen(strip_lead(plain)) + 1);
    scrub(plain, clean, sizeof clean);
    n = whole_characters(clean, strlen(clean), FW_MANAGED_FRAME_BYTES);
    while (n && clean[n - 1] == ' ')
        n--;
    if (!n)
        return;
    if (t->n == FW_MANAGED_FRAMES || t->len + n + 1 > sizeof t->bytes) {
        stack->full = true; /* a shorter frame further out would follow a gap */
        return;
    }
    clean[n] = 0;
    if (!t->n)
        t->native_first = is_native(kind, clean);
    memcpy(t->bytes + t->len, clean, n + 1);
    t->len += n + 1;
    t->n++;
}

static void note_slow(struct fw_managed *m, const struct fw_log *log)
{
    static const char reason[] = "slower than 200 ms";

    atomic_fetch_add(&m->slow, 1);
    if (++m->slow_in_a_row < FW_MANAGED_MAX_SLOW)
        return;
    atomic_store(&m->off_reason, reason);
    fw_log_say(log, FW_LOG_WARN, "managed stacks are off: %s", reason);
}

const struct fw_desk_texts *fw_managed_ask(struct fw_managed *m, const struct fw_log *log)
{
    uint64_t begin = fw_now_ns(), took;

    m->stack->texts.n = 0;
    m->stack->texts.len = 0;
    m->stack->texts.native_first = false;
    m->stack->full = false;
    atomic_store(&asker, fw_thread_id());
    atomic_store(&asked, m->stack);
    m->call(m->user, m->stack);
    atomic_store(&asked, NULL);
    took = fw_now_ns() - begin;
    atomic_fetch_add(&m->looks, 1);
    atomic_fetch_add(&m->ns, took);
    if (took > atomic_load(&m->max_ns))
        atomic_store(&m->max_ns, took);
    if (took > SLOW_NS) {
        note_slow(m, log);
        return NULL;
    }
    m->slow_in_a_row = 0;
    return m->stack->texts.n ? &m->stack->texts : NULL;
}
