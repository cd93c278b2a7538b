#include "src/report/uploader.h"

#include "src/clock.h"
#include "src/random.h"
#include "src/thread.h"
#include "wire/sha256.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_BYTES (512u * 1024u) /* TLS handshakes and name look-ups need room */
#define NICE 15
#define POLICY_PERIOD_NS 60000000000ull /* how often a network that forbids is asked again */
#define DENIED_PERIOD_NS 3600000000000ull
#define ERASE_PERIOD_NS 3600000000000ull
#define CONFIG_RETRY_S 300u
#define CHARGING_OLD_NS 600000000000ull /* what was said before that is not known any more */
#define PACE_NS 1000000000ull
#define QUIET_NS 2000000000ull /* after a long frame */
#define ERASE_BODY_BYTES 96

void fw_file_id(const char *name, char out[37])
{
    unsigned char hash[FW_SHA256_BYTES];
    char stem[FW_FILE_NAME_BYTES];

    fw_file_sibling(name, "", stem);
    fw_sha256(stem, strlen(stem), hash);
    hash[6] = (unsigned char)((hash[6] & 0x0f) | 0x80);
    hash[8] = (unsigned char)((hash[8] & 0x3f) | 0x80);
    for (size_t i = 0, o = 0; i < 16; i++, o += 2) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[o++] = '-';
        snprintf(out + o, 3, "%02x", hash[i]);
    }
}

static uint64_t now_ns(const struct fw_uploader *u)
{
    return u->now_ns ? u->now_ns() : fw_now_ns();
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int64_t wall_ms(const struct fw_uploader *u)
{
    return u->wall_ms ? u->wall_ms() : fw_wall_ms();
}

static bool read_file(void *user, uint64_t offset, void *out, size_t n)
{
    const struct fw_uploader *u = user;

    return pread(u->fd, out, n, (off_t)offset) == (ssize_t)n;
}

static void load_state(struct fw_uploader *u, const char *name)
{
    char state[FW_FILE_NAME_BYTES];
    struct fw_buf text;

    fw_file_sibling(name, ".state", state);
    fw_buf_over(&text, u->tus.url, sizeof u->tus.url - 1);
    if (!fw_store_read(u->store, state, &text) || !text.len || u->tus.url[0] != '/')
        text.len = 0;
    u->tus.url[text.len] = 0;
    u->tus.url[strcspn(u->tus.url, "\n")] = 0;
}

static void save_state(struct fw_uploader *u)
{
    char state[FW_FILE_NAME_BYTES], line[FW_URL_BYTES + 1];

    fw_file_sibling(u->current, ".state", state);
    int n = snprintf(line, sizeof line, "%s\n", u->tus.url);
    fw_store_write(u->store, state, line, (size_t)n);
}

static void close_current(struct fw_uploader *u)
{
    if (u->fd >= 0)
        close(u->fd);
    u->fd = -1;
    u->current[0] = 0;
}

/* Takes a file for sending; the lock keeps a second process with the same folder off it. */
static bool open_file(struct fw_uploader *u, const struct fw_file *file)
{
    struct stat st;

    u->fd = openat(u->store->dir, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (u->fd < 0 || flock(u->fd, LOCK_EX | LOCK_NB) != 0 || fstat(u->fd, &st) != 0 ||
        !st.st_nlink) {
        close_current(u);
        return false;
    }
    uint64_t random = u->tus.random;

    u->tus = (struct fw_tus){.server = &u->server,
                             .length = (uint64_t)st.st_size,
                             .read = read_file,
                             .user = u,
                             .chunk = u->chunk,
                             .chunk_bytes = FW_TUS_CHUNK_BYTES,
                             .random = random};
    memcpy(u->current, file->name, sizeof u->current);
    load_state(u, file->name);
    return true;
}

static bool is_skipped(const struct fw_uploader *u, const char *name)
{
    for (size_t i = 0; i < u->n_skipped && i < FW_MAX_SKIPPED; i++)
        if (!strcmp(u->skipped[i], name))
            return true;
    return false;
}

static void skip_current(struct fw_uploader *u)
{
    memcpy(u->skipped[u->n_skipped++ % FW_MAX_SKIPPED], u->current, FW_FILE_NAME_BYTES);
    close_current(u);
}

static bool is_summary(const char *name)
{
    return fw_file_is(name, ".sum");
}

/* A running session's summary goes when the game rests: until then it only gets old. */
static bool is_premature(const struct fw_uploader *u, const char *name)
{
    return is_summary(name) && u->session && u->hook &&
           !strncmp(name, u->session, strlen(u->session)) &&
           !fw_hook_is_blocked_by(u->hook, FW_BLOCK_BACKGROUND) && !atomic_load(&u->drain_until);
}

static bool next_of(struct fw_uploader *u, size_t (*list)(struct fw_store *, struct fw_file *))
{
    struct fw_file file[FW_LIST_MAX];
    size_t n = list(u->store, file);

    for (size_t i = 0; i < n; i++)
        if (!is_skipped(u, file[i].name) && !is_premature(u, file[i].name) &&
            open_file(u, &file[i]))
            return true;
    return false;
}

/* Where whole files go, their summaries need not: they are dropped with the file. */
static bool next_file(struct fw_uploader *u, const struct fw_allowance *may)
{
    return (may->files && next_of(u, fw_store_list)) ||
           (may->summaries && next_of(u, fw_store_list_summaries));
}

static fw_network network_now(const struct fw_uploader *u)
{
    return u->network ? u->network(u->network_user) : u->untold;
}

static int charging_now(const struct fw_uploader *u)
{
    uint64_t told = atomic_load(&u->charging_told_ns);

    return told && now_ns(u) - told < CHARGING_OLD_NS ? atomic_load(&u->charging) : -1;
}

void fw_uploader_charging(struct fw_uploader *u, bool charging)
{
    atomic_store(&u->charging, charging);
    atomic_store(&u->charging_told_ns, now_ns(u));
}

static void finish_current(struct fw_uploader *u)
{
    fw_store_remove(u->store, u->current);
    if (!is_summary(u->current))
        fw_store_drop_summaries(u->store, u->current);
    close_current(u);
}

static void judge(struct fw_uploader *u, enum fw_tus_result result)
{
    u->denied = result == FW_TUS_DENIED;
    switch (result) {
    case FW_TUS_MORE:
        break;
    case FW_TUS_DONE:
        finish_current(u);
        break;
    case FW_TUS_WAIT:
        u->not_before_ns = now_ns(u) + u->tus.wait_ms * 1000000ull;
        break;
    case FW_TUS_DENIED:
        fw_log_say(u->log, FW_LOG_ERROR, "upload denied (%d): is the API key right?",
                   u->tus.status);
        u->not_before_ns = now_ns(u) + DENIED_PERIOD_NS;
        break;
    case FW_TUS_REFUSED:
        fw_log_say(u->log, FW_LOG_ERROR, "%s: refused by the server (%d)", u->current,
                   u->tus.status);
        skip_current(u);
        break;
    case FW_TUS_UNREADABLE:
        fw_log_say(u->log, FW_LOG_WARN, "%s: cannot be read", u->current);
        skip_current(u);
    }
}

/* One exchange of the current file. */
static void step(struct fw_uploader *u, bool metered)
{
    char id[37], url_before[FW_URL_BYTES];
    struct fw_tus_field fields[] = {{"kind", "session"}, {"fileid", id}, {"install", u->install}};
    uint64_t sent_before = u->tus.sent_bytes;

    fw_file_id(u->current, id);
    memcpy(url_before, u->tus.url, sizeof url_before);
    u->tus.fields = fields;
    u->tus.n_fields = sizeof fields / sizeof *fields;

    enum fw_tus_result result = fw_tus_step(&u->tus);
    uint64_t sent = u->tus.sent_bytes - sent_before;
    atomic_fetch_add(&u->bytes_uploaded, sent);
    if (metered)
        fw_budget_spend(&u->budget, u->store, wall_ms(u), sent + FW_EXCHANGE_BYTES);
    if (result != FW_TUS_DONE && strcmp(url_before, u->tus.url) != 0)
        save_state(u);
    judge(u, result);
}

/* The configured period, and not before the server wants to be asked again. */
static void fetch_config(struct fw_uploader *u)
{
    uint64_t wait_ms, asked_ms;

    if (fw_remote_config_fetch(&u->remote, &u->base, &u->server, u->store))
        u->on_config(u->on_config_user, &u->remote.config);
    wait_ms = u->remote.config.config_period_s * 1000ull;
    if (!u->remote.etag[0])
        wait_ms = earlier(wait_ms, CONFIG_RETRY_S * 1000ull); /* never answered yet */
    asked_ms = u->remote.retry_after_ms > 0 ? (uint64_t)u->remote.retry_after_ms : 0;
    asked_ms = earlier(asked_ms, FW_RETRY_AFTER_LAST_MS);
    u->next_config_ns = now_ns(u) + (wait_ms > asked_ms ? wait_ms : asked_ms) * 1000000ull;
}

/* Erasure: the store keeps the install ids that the server is to forget, one a line. */

static bool must_erase(struct fw_uploader *u, char id[FW_INSTALL_BYTES])
{
    return fw_store_first_forgotten(u->store, id);
}

static void erase(struct fw_uploader *u, const char *id)
{
    static const char *const headers[] = {"Content-Type: application/json", NULL};
    struct fw_answer a = {0};
    char body[ERASE_BODY_BYTES];
    int n = snprintf(body, sizeof body, "{\"install\":\"%s\"}", id);

    fw_http(&u->server,
            &(struct fw_exchange){.method = "POST",
                                  .path = "/v1/erasures",
                                  .headers = headers,
                                  .body = body,
                                  .body_len = (size_t)n},
            &a);
    if (a.status >= 200 && a.status < 300) {
        fw_store_erased(u->store, id);
        return;
    }
    uint64_t wait = ERASE_PERIOD_NS;
    if (a.retry_after_ms >= 0 && (uint64_t)a.retry_after_ms * 1000000u < wait)
        wait = (uint64_t)a.retry_after_ms * 1000000u + PACE_NS;
    u->next_erase_ns = now_ns(u) + wait;
    fw_log_say(u->log, FW_LOG_WARN, "the server has not taken the request to delete (%d)",
               a.status);
}

/* 0: go on; else the game is played and deserves a rest until then. */
static uint64_t rest(const struct fw_uploader *u, uint64_t now)
{
    uint64_t until = u->rest_until_ns, jank = u->jank_ns ? atomic_load(u->jank_ns) : 0;

    if (!u->hook || fw_hook_is_blocked_by(u->hook, FW_BLOCK_BACKGROUND) ||
        atomic_load(&u->drain_until))
        return 0;
    if (jank && jank + QUIET_NS > until)
        until = jank + QUIET_NS;
    return now < until ? until : 0;
}

static bool carries(const struct fw_allowance *may, const char *name)
{
    return is_summary(name) ? may->summaries : may->files;
}

/* The next exchange of a file, if there is one and it may be made. */
static uint64_t send_some(struct fw_uploader *u, fw_network network, uint64_t now, bool *idle)
{
    bool metered = !fw_network_is_free(network);
    struct fw_allowance may =
        fw_may_send(&u->remote.config, network, charging_now(u), &u->budget, wall_ms(u));
    uint64_t ask_again =
        metered ? earlier(now + POLICY_PERIOD_NS, u->next_config_ns) : u->next_config_ns;
    uint64_t until;

    if (u->current[0] && !carries(&may, u->current))
        close_current(u); /* others may trim it meanwhile */
    if (!u->current[0] && !next_file(u, &may)) {
        *idle = true;
        return ask_again;
    }
    *idle = u->denied;
    if (now < u->not_before_ns)
        return earlier(u->not_before_ns, u->next_config_ns);
    if (may.bytes <
        earlier(u->tus.length, FW_TUS_CHUNK_BYTES) + (metered ? FW_EXCHANGE_BYTES : 0)) {
        close_current(u);
        *idle = true;
        return ask_again;
    }
    if ((until = rest(u, now)))
        return earlier(until, u->next_config_ns);
    step(u, metered);
    u->rest_until_ns = now_ns(u) + PACE_NS;
    return 0;
}

uint64_t fw_uploader_work(struct fw_uploader *u, bool *idle)
{
    fw_network network = network_now(u);
    uint64_t now = now_ns(u);
    char id[FW_INSTALL_BYTES];

    *idle = network == FW_NETWORK_NONE;
    if (*idle)
        return now + POLICY_PERIOD_NS;
    if (must_erase(u, id)) {
        if (now >= u->next_erase_ns) {
            erase(u, id);
            return 0;
        }
        *idle = u->erase_only;
        if (*idle)
            return u->next_erase_ns;
    } else if (u->erase_only) {
        *idle = true;
        return UINT64_MAX;
    }
    if (now >= u->next_config_ns) {
        fetch_config(u);
        if (!fw_network_is_free(network))
            fw_budget_spend(&u->budget, u->store, wall_ms(u), FW_EXCHANGE_BYTES);
        return 0;
    }
    return send_some(u, network, now, idle);
}

/* While draining only what was looked for after the order came counts as nothing left. */
static void work_until_told(struct fw_uploader *u)
{
    while (!atomic_load(&u->stop)) {
        uint64_t drain = atomic_load(&u->drain_until), until;
        bool idle;

        until = fw_uploader_work(u, &idle);
        if (drain && (idle || fw_now_ns() >= drain || until >= drain))
            return; /* all sent, or nothing to do before the time is over */
        if (!until)
            continue;
        atomic_store(&u->cpu_us, fw_thread_cpu_us());
        fw_waker_wait(&u->waker, drain ? earlier(until, drain) : until);
        atomic_fetch_add(&u->wakeups, 1);
    }
}

static void load(struct fw_uploader *u)
{
    fw_remote_config_load(&u->remote, &u->base, u->store);
    fw_budget_load(&u->budget, u->store);
}

static void *run(void *user)
{
    struct fw_uploader *u = user;

    fw_thread_yield_priority(NICE);
    load(u);
    work_until_told(u);
    close_current(u);
    fw_waker_wake(&u->done);
    return NULL;
}

static bool allocate(struct fw_uploader *u)
{
    u->fd = -1;
    atomic_store(&u->charging, -1);
    fw_random(&u->tus.random, sizeof u->tus.random);
    u->tus.random |= 1;
    u->chunk = fw_alloc(u->store->memory, FW_TUS_CHUNK_BYTES);
    return u->chunk;
}

bool fw_uploader_prepare(struct fw_uploader *u)
{
    u->waker.fd = u->done.fd = -1;
    if (!allocate(u))
        return false;
    load(u);
    return true;
}

bool fw_uploader_start(struct fw_uploader *u)
{
    u->running = allocate(u) && fw_waker_init(&u->waker) && fw_waker_init(&u->done) &&
                 fw_thread_start(&u->thread, "fw-upload", STACK_BYTES, run, u);
    return u->running;
}

void fw_uploader_wake(struct fw_uploader *u)
{
    if (u->running)
        fw_waker_wake(&u->waker);
}

void fw_uploader_stop(struct fw_uploader *u, bool drain)
{
    if (u->running) {
        uint64_t until = fw_now_ns() + FW_UPLOAD_DRAIN_MS * 1000000ull;

        if (drain) {
            atomic_store(&u->drain_until, until);
            fw_waker_wake(&u->waker);
            fw_waker_wait(&u->done, until);
        }
        atomic_store(&u->stop, true); /* also ends an exchange of the default transport */
        fw_waker_wake(&u->waker);
        pthread_join(u->thread, NULL);
        u->running = false;
    }
}

void fw_uploader_fini(struct fw_uploader *u)
{
    close_current(u);
    fw_waker_fini(&u->waker);
    fw_waker_fini(&u->done);
    if (u->chunk)
        fw_release(u->store->memory, u->chunk);
    u->chunk = NULL;
}
