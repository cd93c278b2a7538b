#include "support/services.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#include <cmocka.h>

#define PATIENCE_S 60

/* HTTP ---------------------------------------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t n, void *user)
{
    buf_put(user, bytes, size * n);
    return size * n;
}

/* The answer's tree, NULL if there was none. */
static json_t *call(const char *url, const char *body)
{
    CURL *c = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct buf b;
    json_t *out = NULL;

    buf_init(&b, (size_t)64 << 20);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)PATIENCE_S);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &b);
    if (body)
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    if (curl_easy_perform(c) == CURLE_OK)
        out = json_loadb((const char *)b.at, b.len, JSON_DECODE_ANY, NULL);
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    buf_fini(&b);
    return out;
}

/* Processes ----------------------------------------------------------------------------------- */

/* Child with its standard input from `in` and output and errors to `out` (-1: as they are). */
static pid_t start(const char *const *argv, int in, int out, int err)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (in >= 0)
        dup2(in, STDIN_FILENO);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    if (err >= 0)
        dup2(err, STDERR_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void end(pid_t *pid, int signal_number)
{
    if (*pid <= 0)
        return;
    kill(*pid, signal_number);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

void services_start(struct services *s)
{
    const char *const argv[] = {"python3", FW_SOURCE_DIR "/tests/support/services.py", NULL};
    int in[2], out[2];
    char line[32] = "";
    FILE *f;

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        fail_msg("no pipes");
    s->pid = start(argv, in[0], out[1], -1);
    close(in[0]);
    close(out[1]);
    s->in = in[1];
    f = fdopen(out[0], "r");
    if (!fgets(line, sizeof line, f))
        fail_msg("services.py did not start");
    fclose(f);
    snprintf(s->base, sizeof s->base, "http://127.0.0.1:%ld", strtol(line, NULL, 10));
}

void services_stop(struct services *s)
{
    if (s->pid > 0)
        close(s->in);
    end(&s->pid, SIGKILL);
}

json_t *services_get(struct services *s, const char *path)
{
    char url[256];
    json_t *out;

    snprintf(url, sizeof url, "%s%s", s->base, path);
    out = call(url, NULL);
    if (!out)
        fail_msg("no answer from %s", url);
    return out;
}

void services_post(struct services *s, const char *path, const char *fmt, ...)
{
    char url[256], body[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    snprintf(url, sizeof url, "%s%s", s->base, path);
    json_decref(call(url, body));
}

void services_tls(struct services *s, char base[64], char ca_file[64])
{
    json_t *answer;
    char url[128];
    int fd;

    snprintf(url, sizeof url, "%s/_/tls", s->base);
    answer = call(url, "{}");
    snprintf(base, 64, "https://127.0.0.1:%lld",
             (long long)json_integer_value(json_object_get(answer, "port")));
    snprintf(ca_file, 64, "/tmp/fw-ca-XXXXXX");
    fd = mkstemp(ca_file);
    if (!json_object_get(answer, "pem") || fd < 0 ||
        write(fd, json_string_value(json_object_get(answer, "pem")),
              json_string_length(json_object_get(answer, "pem"))) <= 0)
        fail_msg("no certificate");
    close(fd);
    json_decref(answer);
}

static bool is_one(const json_t *entry, const char *method, const char *path)
{
    return json_is_true(json_object_get(entry, "done")) &&
           (!method || strcmp(json_string_value(json_object_get(entry, "method")), method) == 0) &&
           (!path || strstr(json_string_value(json_object_get(entry, "path")), path));
}

int services_done(struct services *s, const char *method, const char *path)
{
    json_t *log = services_get(s, "/_/log"), *entry;
    int n = 0;
    size_t i;

    json_array_foreach(log, i, entry) n += is_one(entry, method, path);
    json_decref(log);
    return n;
}

json_t *services_last(struct services *s, const char *method, const char *path)
{
    json_t *log = services_get(s, "/_/log"), *entry, *last = NULL;
    size_t i;

    json_array_foreach(log, i, entry) last = is_one(entry, method, path) ? entry : last;
    json_incref(last);
    json_decref(log);
    if (!last)
        fail_msg("nobody asked %s %s", method ? method : "", path ? path : "");
    return last;
}

int services_tickets(struct services *s, const char *tracker)
{
    char path[64];
    json_t *answer;
    int n;

    snprintf(path, sizeof path, "/_/items/%s", tracker);
    answer = services_get(s, path);
    n = (int)json_array_size(json_object_get(answer, "items"));
    json_decref(answer);
    return n;
}

/* Alertmanager -------------------------------------------------------------------------------- */

static void write_config(const char *folder, char *path, size_t size)
{
    FILE *f;

    snprintf(path, size, "%s/alertmanager.yml", folder);
    f = fopen(path, "w");
    if (!f)
        fail_msg("cannot write %s", path);
    fputs("route: {receiver: nobody, group_wait: 1s}\nreceivers: [{name: nobody}]\n", f);
    fclose(f);
}

/* It takes a free port and says which in its log. */
static void read_port(FILE *log, char *base, size_t size)
{
    char line[1024];

    while (fgets(line, sizeof line, log)) {
        const char *at = strstr(line, "address=127.0.0.1:");

        if (at && strstr(line, "Listening on")) {
            snprintf(base, size, "http://127.0.0.1:%ld", strtol(at + 18, NULL, 10));
            return;
        }
    }
    fail_msg("prometheus-alertmanager did not start: is it installed?");
}

void alertmanager_start(struct alertmanager *a)
{
    char config[128], file[160], storage[160];
    const char *const argv[] = {
        "prometheus-alertmanager",   file, storage, "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=", NULL};
    int log[2];
    FILE *f;

    snprintf(a->folder, sizeof a->folder, "/tmp/fw-alertmanager-XXXXXX");
    if (!mkdtemp(a->folder) || pipe2(log, O_CLOEXEC) != 0)
        fail_msg("no folder for alertmanager");
    write_config(a->folder, config, sizeof config);
    snprintf(file, sizeof file, "--config.file=%s", config);
    snprintf(storage, sizeof storage, "--storage.path=%s/data", a->folder);
    a->pid = start(argv, -1, log[1], log[1]);
    close(log[1]);
    f = fdopen(log[0], "r");
    read_port(f, a->base, sizeof a->base);
    a->log = f;
}

void alertmanager_stop(struct alertmanager *a)
{
    char command[128];

    end(&a->pid, SIGKILL);
    if (a->log)
        fclose(a->log);
    a->log = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", a->folder);
    if (a->folder[0] && system(command) != 0)
        print_message("%s stays\n", a->folder);
    a->folder[0] = '\0';
}

json_t *alertmanager_alerts(struct alertmanager *a, const char *query)
{
    char url[256];
    json_t *out;

    snprintf(url, sizeof url, "%s/api/v2/alerts?%s", a->base, query);
    out = call(url, NULL);
    if (!json_is_array(out))
        fail_msg("no answer from %s", url);
    return out;
}
