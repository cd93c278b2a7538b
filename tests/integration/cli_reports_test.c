/* framewatch report, health, alerts and tiers: the real tool as a process, against a real server.
 */
#include "support/api.h"
#include "support/job_fixture.h"
#include "support/rollup_fill.h"

#include "server/jobs/worker.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOOL FW_BINARY_DIR "/server/framewatch"

static char out[4 << 20]; /* of the last run: stdout and stderr */
static int64_t build, baseline;

/* Runs the tool as an admin, or by `as`, and expects the exit code. */
static void run_as(struct api *api, enum role as, int want, const char *command)
{
    char line[4096];
    FILE *f;
    size_t len;
    int code;

    assert_true(snprintf(line, sizeof line, "%s %s 2>&1", TOOL, command) < (int)sizeof line);
    setenv("FW_URL", api->base, 1);
    setenv("FW_KEY", api->key[0][as], 1);
    f = popen(line, "r");
    assert_non_null(f);
    len = fread(out, 1, sizeof out - 1, f);
    out[len] = '\0';
    code = WEXITSTATUS(pclose(f));
    if (code != want)
        fail_msg("%s: exit code %d, not %d: %.2000s", command, code, want, out);
}

static void run(struct api *api, int want, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void run(struct api *api, int want, const char *fmt, ...)
{
    char command[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    run_as(api, ROLE_ADMIN, want, command);
}

static void says(const char *text)
{
    if (!strstr(out, text))
        fail_msg("'%s' is not in: %.2000s", text, out);
}

static void says_not(const char *text)
{
    if (strstr(out, text))
        fail_msg("'%s' is in: %.2000s", text, out);
}

static size_t lines_with(const char *text)
{
    size_t n = 0;

    for (const char *at = out; (at = strstr(at, text)); at += strlen(text))
        n++;
    return n;
}

static void fill(struct api *api, int64_t sessions, int tier, int scene, double effect)
{
    const struct rollup_fill f = {.app = api->app[0],
                                  .sessions = sessions,
                                  .seed = 11,
                                  .tier = tier,
                                  .scene = scene,
                                  .effect = effect};

    rollup_fill(api->conninfo, &f, &build, &baseline);
}

static void drain(struct api *api)
{
    struct worker_config config = test_worker(api->conninfo);
    struct err err;

    if (!worker_drain(&config, NULL, &err))
        fail_msg("%s", err.text);
}

/* report --------------------------------------------------------------------------------------- */

static void report_tells_each_slice_with_its_change(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 3, 2, 0.2);
    run(api, 0, "report %lld", (long long)build);
    says("1.0.1 (101) against 1.0.0 (100)");
    says("low  mode/map1");
    says("high  whole sessions");
    says("p90");
    says(" %  (");
    says("  mix ");
    says("  n = ");
    says_not("p95"); /* alerts do not watch it */
    run(api, 0, "report %lld --all", (long long)build);
    says("p95");
    says("slow_sessions");
}

static void report_is_of_the_slice_that_is_asked_for(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 0, 0, 0);
    run(api, 0, "report --tier low --scene mode/map3 %lld", (long long)build);
    assert_int_equal(lines_with(" installs\n"), 1);
    says("low  mode/map3");
    run(api, 0, "report %lld --tier=all --scene ''", (long long)build);
    assert_int_equal(lines_with(" installs\n"), 1);
    says("all  whole sessions");
    run(api, 0, "report %lld --scene 'mode/map3 & more'", (long long)build);
    assert_int_equal(lines_with(" installs\n"), 0); /* none there is */
}

static void another_baseline_stands_beside_without_changes(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 0, 0, 0);
    run(api, 0, "report %lld --baseline %lld", (long long)baseline, (long long)build);
    says("1.0.0 (100) against 1.0.1 (101)");
    says(" was ");
    says("too few sessions to compare");
    says_not(" %  (");
    run(api, 0, "report %lld", (long long)baseline); /* has none itself */
    says_not("against");
    says_not(" was ");
}

static void a_figure_that_is_not_known_is_no_zero(void **state)
{
    struct api *api = *state;

    fill(api, 3000, 0, 0, 0);
    pg_sql(api->conninfo,
           "DELETE FROM metric_rollup WHERE build_id = %lld AND arm = 0 AND scene = 'mode/map0'",
           (long long)build);
    run(api, 0, "report %lld --tier low --scene mode/map0", (long long)build);
    says("–");
    says(" was ");
    says_not(" 0 ms");
}

static void report_writes_json_csv_and_a_page(void **state)
{
    struct api *api = *state;
    json_error_t why;
    json_t *doc;

    fill(api, 3000, 0, 0, 0);
    pg_sql(api->conninfo, "UPDATE metric_rollup SET scene = '=1+<b>' WHERE scene = 'mode/map0'");
    run(api, 0, "report %lld --format json", (long long)build);
    doc = json_loads(out, 0, &why);
    if (!doc)
        fail_msg("line %d: %s", why.line, why.text);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(doc, "build"), "id")),
                     build);
    json_decref(doc);
    run(api, 0, "report %lld --format csv --tier high", (long long)build);
    assert_int_equal(strncmp(out, "tier,scene,installs,metric,unit,", 32), 0);
    says("\"'=1+<b>\"");
    says_not("\"low\"");
    run(api, 0, "report %lld --format=html", (long long)build);
    assert_int_equal(strncmp(out, "<!doctype html>", 15), 0);
    says("=1+&lt;b&gt;");
    says_not("<b>");
}

static void report_refuses_wrong_use(void **state)
{
    struct api *api = *state;
    static const char *const usage[] = {"report", "report 1 2", "report 1 --nonsense",
                                        "report 1 --tier", "report 1 --all=yes"};
    char text[1600], command[1700];

    fill(api, 3000, 0, 0, 0);
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
        run(api, 2, "%s", usage[i]);
        says("usage: framewatch report [options] BUILD");
    }
    run(api, 0, "report --help");
    says("--baseline ID");
    run(api, 1, "report 999");
    says("no such build");
    run(api, 1, "report one");
    says("build");
    run(api, 1, "report %lld --tier best", (long long)build);
    says("tier");
    run(api, 1, "report %lld --baseline 999", (long long)build);
    says("no such build");
    run(api, 1, "report %lld --format pdf", (long long)build);
    says("format");
    memset(text, '%', sizeof text - 1); /* three bytes each in a query */
    text[sizeof text - 1] = '\0';
    snprintf(command, sizeof command, "report 1 --scene '%s'", text);
    run_as(api, ROLE_ADMIN, 2, command);
    says("too long");
    run_as(api, ROLE_INGEST, 1, "report 1");
    run(api, 1, "report 1 --server http://127.0.0.1:1");
    run(api, 1, "report 1 --key-file /nonexistent");
}

static void health_is_told_in_words(void **state)
{
    struct api *api = *state;
    char id[33];

    run(api, 1, "health"); /* there is no build */
    fill(api, 3000, 0, 0, 0);
    api_play(api, 0, 1, 5, id);
    run(api, 0, "health --build %lld --day 3", (long long)build);
    says("1.0.1, day 3, ");
    says("unknown  0 sessions in the first 3 days"); /* of either build: they came later */
    says("ok       p90: told by 100 %");
    says("Nothing to do");
    run(api, 0, "health");
    run(api, 0, "report %lld --kept", (long long)build);
    says("none was made by itself yet");
    pg_sql(api->conninfo, "UPDATE session SET build_id = %lld", (long long)build);
    api_post(api, 0, ROLE_ADMIN, 202, "/v1/schedule/reports", NULL);
    drain(api);
    run(api, 0, "report %lld --kept", (long long)build);
    says("health, day 3");
    says("comparison");
    run(api, 0, "report %lld --as-of %lld", (long long)build,
        (long long)pg_i64(api->conninfo,
                          "SELECT min(report_id) FROM report WHERE kind = 'comparison'"));
    says("1.0.1 (101) against 1.0.0 (100)");
    run(api, 0, "report %lld --as-of %lld", (long long)build,
        (long long)pg_i64(api->conninfo,
                          "SELECT min(report_id) FROM report WHERE kind = 'health'"));
    says("1.0.1, day 3, ");
    run(api, 0, "health --build %lld --day 3", (long long)build);
    says("as it stood at ");
    run(api, 1, "report %lld --as-of 999999", (long long)build);
    says("no such report");
    run(api, 1, "health --build 999");
    run(api, 1, "health --day 0");
    says("day");
    run(api, 2, "health 1");
}

/* alerts --------------------------------------------------------------------------------------- */

static int64_t alarm_id(struct api *api)
{
    fill(api, 30000, 3, 2, 0.25);
    run(api, 0, "alerts look");
    drain(api);
    return pg_i64(api->conninfo, "SELECT alert_id FROM alert WHERE state = 'open'");
}

static void alerts_are_listed_and_explained(void **state)
{
    struct api *api = *state;
    int64_t id;

    run(api, 0, "alerts list");
    assert_string_equal(out, "No alerts.\n");
    id = alarm_id(api);
    run(api, 0, "alerts list");
    assert_int_equal(lines_with("\n"), 1);
    says("open");
    says("low");
    says("mode/map1");
    says("p90");
    says(" %  (");
    /* the sessions that the change was taken from, not all that have the metric */
    pg_sql(api->conninfo, "UPDATE alert SET evidence = jsonb_set(evidence, '{sessions}', '17')");
    run(api, 0, "alerts list");
    says("  n = 17\n");
    api_post(api, 0, ROLE_ADMIN, 201, "/v1/channels",
             "{\"name\":\"chat\",\"kind\":\"webhook\",\"filter\":{\"states\":[\"acknowledged\"]},"
             "\"secrets\":{\"url\":\"https://"
             "example.org/\",\"key\":\"0123456789abcdef\"}}");
    run(api, 0, "alerts show %lld", (long long)id);
    says("mode/map1");
    says("\nMix of devices and players, taken out: ");
    says("\n256 installs that have both builds: ");
    says_not("?");
    run(api, 0, "alerts ack %lld", (long long)id);
    assert_int_equal(pg_i64(api->conninfo, "SELECT (body::jsonb ->> 'n')::bigint FROM delivery"),
                     17);
    says("\n256 installs that have both builds: ");
    /* names in it are foreign */
    pg_sql(api->conninfo, "UPDATE alert SET evidence = jsonb_set(evidence, '{detail}', "
                          "to_jsonb(E'a\\x1b]0;b\\nc'::text))");
    run(api, 0, "alerts show %lld", (long long)id);
    says("\na?]0;b\nc\n");
    pg_sql(api->conninfo, "UPDATE alert SET state = 'resolved' WHERE state = 'acknowledged'");
    run(api, 0, "alerts list");
    assert_string_equal(out, "No alerts.\n");
    run(api, 0, "alerts list --all");
    says("resolved");
}

static void alerts_are_listed_to_the_last_page(void **state)
{
    struct api *api = *state;
    int64_t id = alarm_id(api);

    pg_sql(
        api->conninfo,
        "INSERT INTO alert (app_id, build_id, baseline_id, tier, scene, metric, state, level, "
        "reason, version, change, low, high, sessions, ln_e_worse, ln_e_better, ln_e_pairs) "
        "SELECT app_id, build_id, baseline_id, tier, 'scene ' || n, metric, state, level, reason, "
        "version, change, low, high, sessions, 9, 0, 9 FROM alert, generate_series(1, 450) AS n "
        "WHERE alert_id = %lld",
        (long long)id);
    run(api, 0, "alerts list");
    assert_int_equal(lines_with("\n"), 451);
    says("scene 450");
    says("scene 1 ");
}

static void alerts_are_acknowledged_and_silenced_with_a_note(void **state)
{
    struct api *api = *state;
    int64_t id = alarm_id(api);

    run_as(api, ROLE_READ, 1, "alerts ack 1");
    run(api, 0, "alerts ack %lld --note 'on \"it\"'", (long long)id);
    says("acknowledged");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM alert WHERE note = 'on \"it\"'"),
                     1);
    run(api, 1, "alerts ack %lld", (long long)id);
    says("over");
    run(api, 0, "alerts silence %lld --days 90 --note later", (long long)id);
    says("silenced");
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM alert WHERE note = 'later' AND silenced_until "
                            "BETWEEN now() + interval '89 days' AND now() + interval '91 days'"),
                     1);
    run(api, 0, "alerts silence %lld --days 0", (long long)id);
    says("updated");
    run(api, 0, "alerts silence %lld", (long long)id); /* a week */
    assert_int_equal(pg_i64(api->conninfo,
                            "SELECT count(*) FROM alert WHERE silenced_until BETWEEN now() + "
                            "interval '6 days' AND now() + interval '8 days'"),
                     1);
}

static void alerts_refuses_wrong_use(void **state)
{
    struct api *api = *state;
    static const char *const usage[] = {"alerts",
                                        "alerts nonsense",
                                        "alerts list 1",
                                        "alerts show",
                                        "alerts show 1 2",
                                        "alerts ack",
                                        "alerts ack 1 --note",
                                        "alerts silence 1 --days 91",
                                        "alerts silence 1 --days -1",
                                        "alerts silence 1 --days soon",
                                        "alerts look 1"};
    static const char *const no_id[] = {"show one", "ack ''", "silence 1/../2",
                                        "show 12345678901234567890"};

    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
        run(api, 2, "%s", usage[i]);
        says("usage: framewatch alerts");
    }
    for (size_t i = 0; i < sizeof no_id / sizeof *no_id; i++) {
        run(api, 1, "alerts %s", no_id[i]);
        says("is a number");
    }
    run(api, 1, "alerts ack 1 --note \"$(printf '\\377')\"");
    says("no UTF-8");
    run(api, 1, "alerts show 999");
    says("no such alert");
    run(api, 1, "alerts silence 999");
    run_as(api, ROLE_READ, 1, "alerts look");
    run(api, 0, "alerts --help");
    run(api, 0, "alerts silence --help");
    says("--days N");
}

/* tiers ---------------------------------------------------------------------------------------- */

static void tiers_and_their_models_are_listed(void **state)
{
    struct api *api = *state;
    char id[33];

    run(api, 0, "tiers list");
    says("No tiers yet");
    fill(api, 3000, 0, 0, 0);
    run(api, 0, "tiers list");
    assert_int_equal(lines_with("P90 up to"), 2);
    assert_int_equal(lines_with("P90 above"), 1); /* the slowest: no "inf ms" */
    says("high");
    says("17.00 ms");
    api_play(api, 0, 1, 5, id);
    run(api, 0, "tiers models");
    says("untiered");
    says("not fitted yet");
    pg_sql(api->conninfo, "UPDATE device_model SET model = 'Pro 100%%', tier = 3");
    pg_sql(
        api->conninfo,
        "INSERT INTO tier_score (app_id, model_id, version, tier, capability, sd, prior, weight, "
        "sessions, outside, parts) SELECT app_id, model_id, 1, 3, ln(30), 0.1, ln(25), 0.5, 40, "
        "0.01, '{\"ram_mb\": 0.0953}' FROM device_model");
    run(api, 0, "tiers models 'o 100%%'");
    says("Pro 100%");
    says("30.00 ms (hardware says  25.00, weight of its 40 sessions 0.50)");
    says("ram_mb +10.0 %");
    run(api, 0, "tiers models --tier low");
    says("Pro 100%");
    run(api, 0, "tiers models --tier high");
    assert_string_equal(out, "");
    run(api, 0, "tiers models nothing");
    assert_string_equal(out, "");
}

static void models_are_listed_to_the_last_page(void **state)
{
    struct api *api = *state;

    pg_sql(api->conninfo,
           "INSERT INTO device_model (app_id, platform, manufacturer, model, soc, ram_gb) "
           "SELECT %lld, 'android', 'acme', 'model ' || n, '', 4 FROM generate_series(1, 450) AS n",
           (long long)api->app[0]);
    run(api, 0, "tiers models");
    assert_int_equal(lines_with("acme"), 450);
}

static void cuts_are_placed_anew_and_listed(void **state)
{
    struct api *api = *state;
    char id[33];

    run(api, 1, "tiers place 20");
    says("too few device models");
    run(api, 0, "tiers versions");
    assert_string_equal(out, "");
    fill(api, 3000, 0, 0, 0);
    api_play(api, 0, 1, 5, id);
    run(api, 0, "tiers place 20 30.5 --note 'new \"phones\"'");
    says("2    ");
    says("  3 tiers: 20.00 30.50 ms  fw_admin");
    says("new \"phones\"");
    run(api, 1, "tiers place 20 30.5");
    says("in force");
    run(api, 0, "tiers place 20");
    run(api, 0, "tiers versions");
    assert_int_equal(lines_with("\n"), 3);
    assert_int_equal(strncmp(out, "3 ", 2), 0); /* the latest first */
    says("3 tiers: 17.00 26.00 ms  by itself");
    run(api, 1, "tiers place --tiers 3"); /* no model has a score */
    run(api, 1, "tiers place 30 20");
    says("ascend");
    run(api, 1, "tiers place 20 fast");
    says("fast is no number");
    run(api, 1, "tiers place 20 inf");
    run(api, 1, "tiers place 20 --tiers 2");
    says("exclude each other");
    run(api, 1, "tiers place 25 --note \"$(printf '\\377')\"");
    says("no UTF-8");
    run_as(api, ROLE_READ, 1, "tiers place 25");
    run_as(api, ROLE_READ, 0, "tiers versions");
    assert_int_equal(lines_with("\n"), 3);
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void a_catalogue_is_imported(void **state)
{
    struct api *api = *state;
    char path[] = "/tmp/fw-catalogue-XXXXXX";
    int fd = mkstemp(path);
    FILE *f;

    assert_true(fd >= 0);
    close(fd);
    put_file(path, "\xef\xbb\xbfmanufacturer,model,soc,ram_mb,width_px\r\n"
                   "Apple,\"iPhone14,5\",A15,4096,\r\n\r\nApple,\"a \"\"b\"\"\",,0,1170\r\n");
    run(api, 0, "tiers import %s", path);
    assert_string_equal(out, "2 lines\n");
    assert_int_equal(pg_i64(api->conninfo, "SELECT ram_mb FROM device_catalogue WHERE model = "
                                           "'iPhone14,5' AND soc = 'A15'"),
                     4096);
    assert_int_equal(
        pg_i64(api->conninfo, "SELECT width_px FROM device_catalogue WHERE model = 'a \"b\"'"),
        1170);
    f = fopen(path, "we"); /* more than are sent at once */
    assert_non_null(f);
    fputs("model,manufacturer\n", f);
    for (int i = 0; i < 2500; i++)
        fprintf(f, "m%d,acme\n", i);
    assert_int_equal(fclose(f), 0);
    run(api, 0, "tiers import %s", path);
    assert_string_equal(out, "2500 lines\n");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM device_catalogue"), 2502);
    assert_true(pg_i64(api->conninfo, "SELECT count(*) FROM audit WHERE action = "
                                      "'tiers.catalogue'") >= 4);
    unlink(path);
}

static void a_catalogue_that_is_wrong_is_refused_and_says_where(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"", "the file is empty"},
        {"manufacturer,model\nacme\n", "1 fields where the header has 2"},
        {"manufacturer,model\nacme,a,b\n", "line 2"},
        {"manufacturer,model\n\"acme,a\n", "line 2 is no CSV"},
        {"manufacturer,model,ram_mb\nacme,a,4 GB\n", "ram_mb: 4 GB is no whole number"},
        {"manufacturer,model,ram_mb\nacme,a,-1\n", "no whole number"},
        {"manufacturer,model,ram_mb\nacme,a,99999999999999999999\n", "no whole number"},
        {"manufacturer,model,ram_mb\nacme,a,100000001\n", "ram_mb"},
        {"manufacturer,model,colour\nacme,a,7\n", "colour"},
        {"manufacturer,model,\xff\nacme,a,7\n", "no UTF-8"},
        {"manufacturer,model\nacme,\xff\n", "no UTF-8"},
        {"model\na\n", "manufacturer"},
    };
    char path[] = "/tmp/fw-catalogue-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_file(path, wrong[i].text);
        run(api, 1, "tiers import %s", path);
        says(wrong[i].said);
    }
    put_file(path, "manufacturer,model\nacme,a\n");
    setenv("IMPORT", path, 1);
    run_as(api, ROLE_READ, 1, "tiers import $IMPORT");
    assert_int_equal(pg_i64(api->conninfo, "SELECT count(*) FROM device_catalogue"), 0);
    unlink(path);
    run(api, 1, "tiers import %s", path);
    says("No such file");
    run(api, 1, "tiers import /");
    says("cannot be read");
}

static void tiers_refuses_wrong_use(void **state)
{
    struct api *api = *state;
    static const char *const usage[] = {"tiers",
                                        "tiers nonsense",
                                        "tiers list 1",
                                        "tiers models a b",
                                        "tiers models --tier",
                                        "tiers import",
                                        "tiers import a b",
                                        "tiers versions 1",
                                        "tiers place --tiers 1",
                                        "tiers place --tiers 9",
                                        "tiers place 1 2 3 4 5 6 7 8"};

    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++) {
        run(api, 2, "%s", usage[i]);
        says("usage: framewatch tiers");
    }
    run(api, 1, "tiers models --tier best");
    says("tier");
    run(api, 0, "tiers help");
    run(api, 0, "tiers models --help");
    says("--tier TIER");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(report_tells_each_slice_with_its_change),
        TEST(report_is_of_the_slice_that_is_asked_for),
        TEST(another_baseline_stands_beside_without_changes),
        TEST(a_figure_that_is_not_known_is_no_zero),
        TEST(report_writes_json_csv_and_a_page),
        TEST(report_refuses_wrong_use),
        TEST(health_is_told_in_words),
        TEST(alerts_are_listed_and_explained),
        TEST(alerts_are_listed_to_the_last_page),
        TEST(alerts_are_acknowledged_and_silenced_with_a_note),
        TEST(alerts_refuses_wrong_use),
        TEST(tiers_and_their_models_are_listed),
        TEST(models_are_listed_to_the_last_page),
        TEST(cuts_are_placed_anew_and_listed),
        TEST(a_catalogue_is_imported),
        TEST(a_catalogue_that_is_wrong_is_refused_and_says_where),
        TEST(tiers_refuses_wrong_use),
    };

    return cmocka_run_group_tests(tests, pg_group_setup, pg_group_teardown);
}
