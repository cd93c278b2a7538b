/* The tool's HTTP client against a server that answers what each test tells it to. The tool is a
 * program, not a library, so its files are taken in whole. */
#include "server/cli/client.c"
#include "server/cli/family_text.c"
#include "server/cli/out_file.c"
#include "server/cli/term.c"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SECRET "fwk_read_0123456789abcdef"

/* Answers one connection with `answer` and keeps what was asked. */
struct server {
    int fd;
    pthread_t thread;
    const char *answer;
    char url[64], asked[8192];
};

static void *serve(void *user)
{
    struct server *s = user;
    int c = accept(s->fd, NULL, NULL);
    size_t n = 0;

    if (c < 0)
        return NULL;
    while (n < sizeof s->asked - 1) {
        ssize_t got = read(c, s->asked + n, sizeof s->asked - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
        s->asked[n] = 0;

        const char *body = strstr(s->asked, "\r\n\r\n"),
                   *length = strcasestr(s->asked, "content-length:");

        if (body && (!length || strlen(body + 4) >= strtoul(length + 15, NULL, 10)))
            break;
    }
    if (write(c, s->answer, strlen(s->answer)) < 0)
        s->asked[0] = 0;
    shutdown(c, SHUT_WR);
    close(c);
    return NULL;
}

static void server_start(struct server *s, const char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    memset(s, 0, sizeof *s);
    s->answer = answer;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static struct client *connect_to(const struct server *s)
{
    struct client_options o = {.server = s->url};
    struct err err = {0};
    struct client *c;

    setenv("FW_KEY", SECRET, 1);
    c = client_open(&o, &err);
    if (!c)
        fail_msg("%s", err.text);
    return c;
}

static void shows_the_key_in_one_header_and_takes_json_back(void **state)
{
    struct server s;
    struct err err = {0};
    json_t *out = NULL;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a\":[1]}");

    struct client *c = connect_to(&s);

    assert_true(client_get(c, "/v1/sessions?limit=1", &out, &err));
    client_close(c);
    server_stop(&s);
    assert_int_equal(json_array_size(json_object_get(out, "a")), 1);
    json_decref(out);
    assert_non_null(strstr(s.asked, "GET /v1/sessions?limit=1 HTTP/1.1\r\n"));
    assert_non_null(strstr(s.asked, "Authorization: Bearer " SECRET "\r\n"));
}

static void sends_a_json_body(void **state)
{
    struct server s;
    struct err err = {0};
    json_t *body = json_pack("{s:s}", "name", "x"), *out = body;

    (void)state;
    server_start(&s, "HTTP/1.1 204 No Content\r\n\r\n");

    struct client *c = connect_to(&s);

    assert_true(client_send(c, "PUT", "/v1/config", body, &out, &err));
    client_close(c);
    server_stop(&s);
    json_decref(body);
    assert_null(out);
    assert_non_null(strstr(s.asked, "PUT /v1/config HTTP/1.1\r\n"));
    assert_non_null(strstr(s.asked, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(s.asked, "{\"name\":\"x\"}"));
}

static void a_list_that_gives_the_same_page_again_ends(void **state)
{
    const char *cursor = NULL;
    json_t *page = NULL;
    struct err err = {0};

    (void)state;
    assert_true(client_turn(&page, json_pack("{s:s}", "next", "a"), &cursor, &err));
    assert_string_equal(cursor, "a");
    assert_true(client_turn(&page, json_pack("{s:s}", "next", "b"), &cursor, &err));
    assert_false(client_turn(&page, json_pack("{s:s}", "next", "b"), &cursor, &err));
    assert_non_null(strstr(err.text, "twice"));
    assert_true(client_turn(&page, json_pack("{s:n}", "next"), &cursor, &err));
    assert_null(cursor);
    assert_string_equal(client_field(page, "next"), "");
    assert_string_equal(client_field(page, "missing"), "");
    json_decref(page);
}

/* Asks once; the answer must be a failure. */
static struct err failure(const char *answer)
{
    struct server s;
    struct err err = {0};
    json_t *out = NULL;

    server_start(&s, answer);

    struct client *c = connect_to(&s);

    assert_false(client_get(c, "/v1/x", &out, &err));
    client_close(c);
    server_stop(&s);
    assert_null(out);
    assert_null(strstr(err.text, SECRET));
    return err;
}

static void tells_a_problem_document_in_one_line(void **state)
{
    struct err err = failure("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
                             "{\"title\":\"Invalid\",\"detail\":\"at most 50000\","
                             "\"field\":\"buckets\",\"request_id\":\"r-17\"}");

    (void)state;
    assert_int_equal(err.code, ERR_INVALID);
    assert_string_equal(err.field, "buckets");
    assert_string_equal(err.text, "400 Invalid: at most 50000 (request r-17)");
}

static void maps_each_status_to_its_code(void **state)
{
    static const struct {
        const char *answer;
        enum err_code code;
    } cases[] = {{"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", ERR_UNAUTHORIZED},
                 {"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", ERR_FORBIDDEN},
                 {"HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nplain", ERR_NOT_FOUND},
                 {"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", ERR_TOO_BIG},
                 {"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", ERR_BUSY},
                 {"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n[]", ERR_INTERNAL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(failure(cases[i].answer).code, cases[i].code);
}

static void follows_no_redirect_with_the_key(void **state)
{
    struct err err = failure("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
                             "Content-Length: 0\r\n\r\n");

    (void)state;
    assert_non_null(strstr(err.text, "302"));
}

static void an_answer_that_is_no_json_or_cut_is_a_failure(void **state)
{
    (void)state;
    assert_int_equal(failure("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhey").code, ERR_INVALID);
    assert_int_equal(failure("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"a\":1}").code,
                     ERR_BUSY);
    assert_int_equal(failure("nonsense\r\n\r\n").code, ERR_BUSY);
}

static void text_of_an_answer_cannot_drive_the_terminal(void **state)
{
    struct server s;
    struct err err = {0};
    json_t *out = NULL;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                     "{\"items\":[{\"version_name\":\"1\\u001b]0;x\\u0007 \\u00e9\\u009b2J\"}]}");

    struct client *c = connect_to(&s);

    assert_true(client_get(c, "/v1/builds", &out, &err));
    client_close(c);
    server_stop(&s);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(out, "items"), 0), "version_name")),
                        "1?]0;x? \xc3\xa9?2J");
    json_decref(out);
}

static void steps_that_are_no_texts_are_shown_empty(void **state)
{
    json_t *paths = json_pack("{s:[{s:[i, n, s]}]}", "paths", "steps", 1, "open_shop");

    (void)state;
    assert_non_null(paths);
    family_paths_print(paths);
    json_decref(paths);
}

static void a_server_out_of_reach_is_busy(void **state)
{
    struct client_options o = {.server = "http://127.0.0.1:1"};
    struct err err = {0};
    json_t *out = NULL;

    (void)state;
    setenv("FW_KEY", SECRET, 1);

    struct client *c = client_open(&o, &err);

    assert_non_null(c);
    assert_false(client_get(c, "/v1/x", &out, &err));
    assert_int_equal(err.code, ERR_BUSY);
    client_close(c);
}

static void a_download_holds_the_bytes_or_nothing(void **state)
{
    struct server s;
    struct err err = {0};
    FILE *file = tmpfile();
    char bytes[16] = "";

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nzstd");

    struct client *c = connect_to(&s);

    assert_true(client_download(c, "/v1/raw", file, &err));
    client_close(c);
    server_stop(&s);
    rewind(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 4);
    assert_string_equal(bytes, "zstd");
    fclose(file);

    file = tmpfile();
    server_start(&s, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
    c = connect_to(&s);
    assert_false(client_download(c, "/v1/raw", file, &err));
    client_close(c);
    server_stop(&s);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}

/* Where server and key come from ------------------------------------------------------------------
 */

static char folder[] = "/tmp/fw_client_XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void clear_environment(void)
{
    static const char *const names[] = {"FW_URL", "FW_KEY", "FW_KEY_FILE", "FW_CONFIG",
                                        "XDG_CONFIG_HOME"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("HOME", folder, 1);
}

static struct client *opened(struct client_options o)
{
    struct err err = {0};
    struct client *c = client_open(&o, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

static void options_win_over_environment_and_that_over_the_file(void **state)
{
    char key_path[256];
    struct client *c;

    (void)state;
    clear_environment();
    setenv("FW_CONFIG", write_file("client.conf", "# ours\nurl = http://file/ \nkey = fromfile\n"),
           1);
    c = opened((struct client_options){0});
    assert_string_equal(client_url(c), "http://file");
    assert_string_equal(c->authorization, "Authorization: Bearer fromfile");
    client_close(c);
    setenv("FW_URL", "http://env", 1);
    setenv("FW_KEY", "fromenv", 1);
    c = opened((struct client_options){0});
    assert_string_equal(client_url(c), "http://env");
    assert_string_equal(c->authorization, "Authorization: Bearer fromenv");
    client_close(c);
    snprintf(key_path, sizeof key_path, "%s", write_file("key", " fromoption \n"));
    c = opened((struct client_options){.server = "https://option///", .key_file = key_path});
    assert_string_equal(client_url(c), "https://option");
    assert_string_equal(c->authorization, "Authorization: Bearer fromoption");
    client_close(c);
}

static void refused(struct client_options o, const char *said)
{
    struct err err = {0};

    assert_null(client_open(&o, &err));
    assert_int_not_equal(err.code, ERR_NONE);
    assert_non_null(strstr(err.text, said));
    assert_null(strstr(err.text, "secret"));
}

static void says_what_is_missing_or_wrong_without_telling_the_key(void **state)
{
    char long_key[1024] = "";

    (void)state;
    clear_environment();
    refused((struct client_options){0}, "no server given");
    refused((struct client_options){.server = "http://x"}, "no API key given");
    refused((struct client_options){.server = "ftp://x"}, "http://");
    refused((struct client_options){.server = "http://x", .key_file = "/nonexistent"},
            "cannot read the key file");
    setenv("FW_KEY", "secret\nwith a line", 1);
    refused((struct client_options){.server = "http://x"}, "no key has");
    memset(long_key, 's', sizeof long_key - 1);
    setenv("FW_KEY", long_key, 1);
    refused((struct client_options){.server = "http://x"}, "longer than");
    clear_environment();
    setenv("FW_CONFIG", write_file("client.conf", "url = http://x\nsecrets\n"), 1);
    refused((struct client_options){0}, "not 'name = value'");
    setenv("FW_CONFIG", write_file("client.conf", "url = http://x\npassword = 1\n"), 1);
    refused((struct client_options){0}, "is not url, key or key_file");
}

static const char *failure_of(const char *server)
{
    static struct err err;
    struct client_options o = {.server = server};
    struct client *c = client_open(&o, &err);
    json_t *out = NULL;

    if (c) {
        assert_false(client_get(c, "/v1/x", &out, &err));
        client_close(c);
    }
    return err.text;
}

static void a_password_in_the_servers_address_is_never_told(void **state)
{
    static const char *const urls[] = {
        "http://user:pw-secret@127.0.0.1:1",  "http://pw-secret@127.0.0.1:1/",
        "http://user:pw@secret@127.0.0.1:1",  "http://user:pw/secret@127.0.0.1:1",
        "http://user:pw-secret@127.0.0.1:1x", "http://user:pw-secret@",
        "user:pw-secret@127.0.0.1:1",
    };
    char long_url[400], config[512];

    (void)state;
    clear_environment();
    setenv("FW_KEY", "k", 1);
    assert_string_equal(failure_of(urls[0]), "http://127.0.0.1:1: Couldn't connect to server");
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_null(strstr(failure_of(urls[i]), "secret"));
        setenv("FW_URL", urls[i], 1);
        assert_null(strstr(failure_of(NULL), "secret"));
        unsetenv("FW_URL");
        snprintf(config, sizeof config, "url = %s\n", urls[i]);
        setenv("FW_CONFIG", write_file("client.conf", config), 1);
        assert_null(strstr(failure_of(NULL), "secret"));
        snprintf(config, sizeof config, "%s?a=b\n",
                 urls[i]); /* a line that is not as it should be */
        setenv("FW_CONFIG", write_file("client.conf", config), 1);
        assert_null(strstr(failure_of(NULL), "secret"));
        unsetenv("FW_CONFIG");
    }
    /* its end would not fit in the message */
    snprintf(long_url, sizeof long_url, "http://user:secret%0300d@127.0.0.1:1", 0);
    assert_null(strstr(failure_of(long_url), "secret"));
}

static void escapes_what_a_url_cannot_hold(void **state)
{
    char *text = client_escape("a b/ä?&=%~-_.");

    (void)state;
    assert_string_equal(text, "a%20b%2F%C3%A4%3F%26%3D%25~-_.");
    free(text);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[256];

    (void)state;
    snprintf(path, sizeof path, "%s/client.conf", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/key", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_the_key_in_one_header_and_takes_json_back),
        cmocka_unit_test(sends_a_json_body),
        cmocka_unit_test(a_list_that_gives_the_same_page_again_ends),
        cmocka_unit_test(tells_a_problem_document_in_one_line),
        cmocka_unit_test(maps_each_status_to_its_code),
        cmocka_unit_test(follows_no_redirect_with_the_key),
        cmocka_unit_test(an_answer_that_is_no_json_or_cut_is_a_failure),
        cmocka_unit_test(text_of_an_answer_cannot_drive_the_terminal),
        cmocka_unit_test(steps_that_are_no_texts_are_shown_empty),
        cmocka_unit_test(a_server_out_of_reach_is_busy),
        cmocka_unit_test(a_download_holds_the_bytes_or_nothing),
        cmocka_unit_test(options_win_over_environment_and_that_over_the_file),
        cmocka_unit_test(says_what_is_missing_or_wrong_without_telling_the_key),
        cmocka_unit_test(a_password_in_the_servers_address_is_never_told),
        cmocka_unit_test(escapes_what_a_url_cannot_hold),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
