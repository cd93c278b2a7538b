/* Clients we did not write: tus-js-client and tuspy, with aborts in the middle and over a network
 * that breaks. Their programs in tus-clients/ print what they sent; the database must hold exactly
 * that. */
#include "support/server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LINE_BYTES 256

static void write_key(struct server *s, char path[96])
{
    snprintf(path, 96, "%s/key", s->folder);

    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(s->ingest, f);
    fclose(f);
}

/* Each line is an upload's id and the SHA-256 of its file. */
static void assert_arrived(struct server *s, char *line)
{
    char *hash = strchr(line, ' ');

    assert_non_null(hash);
    *hash++ = '\0';
    hash[strcspn(hash, "\r\n")] = '\0';
    if (pg_i64(s->conninfo,
               "SELECT count(*) FROM upload u WHERE u.upload_id = '%s' AND u.state = 'complete' AND"
               " '%s' = (SELECT encode(sha256(coalesce(string_agg(c.bytes, ''::bytea ORDER BY"
               " c.at), '')), 'hex') FROM upload_chunk c WHERE c.upload_id = u.upload_id)",
               line, hash) != 1)
        fail_msg("upload %s does not hold the bytes that were sent", line);
}

static unsigned run_client(struct server *s, const char *name)
{
    char script[512], url[64], key[96], line[LINE_BYTES];
    int out[2], status = 0;
    unsigned n = 0;
    pid_t pid;

    write_key(s, key);
    snprintf(script, sizeof script, FW_SOURCE_DIR "/tests/integration/tus-clients/%s.sh", name);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", s->port);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execl(script, script, url, key, (char *)NULL);
        _exit(127);
    }
    close(out[1]);

    FILE *f = fdopen(out[0], "r");

    for (; fgets(line, sizeof line, f); n++)
        assert_arrived(s, line);
    fclose(f);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(key);
    assert_int_equal(status, 0);
    return n;
}

static void tus_js_client_gets_all_its_bytes_through(void **state)
{
    assert_int_equal(run_client(*state, "tus-js-client"), 9);
}

static void tuspy_gets_all_its_bytes_through(void **state)
{
    assert_int_equal(run_client(*state, "tuspy"), 6);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
    const struct CMUnitTest tests[] = {
        T(tus_js_client_gets_all_its_bytes_through),
        T(tuspy_gets_all_its_bytes_through),
    };

    setenv("FW_ROLE", "server", 1);
    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
