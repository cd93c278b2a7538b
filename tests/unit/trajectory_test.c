/* What `framewatch session` draws. The tool is a program, not a library, so its files are taken in
 * whole. */
#include "server/cli/chart.c"
#include "server/cli/term.c"
#include "server/cli/trajectory.c"

#include "profile/timeline.h"
#include "support/golden.h"
#include "unit/views_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* As the server answers. */
static const char summary_text[] =
    "{\"id\":\"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf\",\"app\":\"dungeon\",\"state\":\"final\","
    "\"received_at\":\"2024-05-06T05:00:12.000Z\",\"platform\":\"android\","
    "\"version_name\":\"2.14.0\",\"version_code\":21400,\"manufacturer\":\"Example\","
    "\"model\":\"Phone "
    "9\",\"tier\":3,\"tier_name\":\"low\",\"parts\":1,\"ended\":true,\"duration_us\":12000000,"
    "\"foreground_us\":11000000,\"frames\":632,\"p50_us\":16670,\"p90_us\":16725,"
    "\"p95_us\":16731,\"p99_us\":16738,\"max_us\":720000,\"mean_us\":18280,"
    "\"janks_minor\":1,\"janks_normal\":1,\"janks_severe\":1,\"jank_us\":1180000,"
    "\"perfdog_janks\":2,\"perfdog_big_janks\":2,\"missed_frames\":3,\"slow_session\":false,"
    "\"peak_memory_kb\":852960,\"peak_battery_millicelsius\":38700,\"throttled_us\":0,"
    "\"environment\":[\"rooted\",\"developer_mode\"],\"excluded\":true,\"from_summary\":false,"
    "\"wall_start_ms\":1714971600123,\"os_version\":\"14\","
    "\"invalid\":{\"frame_out_of_bounds\":1,\"frame_overlap\":1,\"clock_skew\":0},"
    "\"build\":{\"registered\":false},"
    "\"device\":{\"soc\":\"SM8450\",\"gpu\":\"Adreno 730\",\"ram_gb\":8},"
    "\"crashes\":[{\"source\":\"session\",\"t_us\":10900000,\"signal\":11,"
    "\"reason\":\"SIGSEGV at 0x0\",\"stack\":[{\"module\":\"libgame.so\",\"offset\":\"0x1f30\"}]},"
    "{\"source\":\"posted\",\"t_us\":null,\"signal\":null,\"reason\":\"ANR\",\"stack\":[]}],"
    "\"feedback\":[{\"source\":\"session\",\"t_us\":9500000,\"category\":\"lag\","
    "\"text\":\"it stutters\\nin the cave\"}],"
    "\"detail\":{\"end_reason\":\"recovered\",\"evidence\":[\"rooted: /system/xbin/su\"],"
    "\"self_report\":{\"cpu_us\":120000,\"bytes_written\":52000,\"dropped_frames\":0,"
    "\"dropped_samples\":2,\"collectors_off\":[{\"name\":\"thermal\","
    "\"reason\":\"permission denied\"}],\"collectors\":[{\"name\":\"cpu\",\"looks\":74,"
    "\"us\":9140,\"max_us\":1260},{\"name\":\"frequency\",\"looks\":74,\"us\":4000,"
    "\"max_us\":90}]},"
    "\"slices\":[{\"scene\":\"\"},{\"scene\":\"battle/frost \\\"cave\\\" 冰\",\"frames\":400,"
    "\"foreground_us\":7000000,\"p50_us\":16670,\"p90_us\":16725,\"p99_us\":16738,"
    "\"max_us\":720000,\"janks_minor\":0,\"janks_normal\":0,\"janks_severe\":1},"
    "{\"scene\":\"lobby/town\",\"frames\":232,\"foreground_us\":4000000,\"p50_us\":16670,"
    "\"p90_us\":16725,\"p99_us\":16738,\"max_us\":310000,\"janks_minor\":1,\"janks_normal\":1,"
    "\"janks_severe\":0}]}}";

static json_t *parse(struct buf *b)
{
    json_t *tree = json_loadb((const char *)b->at, b->len, 0, NULL);

    assert_non_null(tree);
    buf_fini(b);
    return tree;
}

struct inputs {
    struct fixture fixture;
    json_t *summary;
};

/* Draws the fixture as `framewatch session` does; free(). */
static char *draw(const struct inputs *in, unsigned width, bool colour, unsigned buckets)
{
    struct buf b;
    struct err err = {0};
    char *out = NULL;
    size_t len;
    struct term t = {.out = open_memstream(&out, &len), .width = width, .colour = colour};

    buf_init(&b, 1 << 24);
    assert_true(timeline_write(&in->fixture.s, &in->fixture.r, 0, 0, buckets, &b, &err));

    json_t *timeline = parse(&b), *janks;

    buf_init(&b, 1 << 24);
    janks_write(&in->fixture.s, &in->fixture.r, &b);
    janks = parse(&b);
    trajectory_print(&t, &(struct trajectory){in->summary, timeline, janks, 5});
    json_decref(timeline);
    json_decref(janks);
    fclose(t.out);
    return out;
}

static void every_line_fits_the_terminal(void **state)
{
    static const unsigned widths[] = {80, 81, 100, 133, 200, 400};

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char *text = draw(*state, widths[i], false, 48), *rest = text;

        for (char *line; (line = strsep(&rest, "\n"));)
            if (term_columns(line) > widths[i])
                fail_msg("%u columns: %s", widths[i], line);
        free(text);
    }
}

static void without_colour_no_escape_is_printed(void **state)
{
    char *text = draw(*state, 80, false, 48), *colourful = draw(*state, 80, true, 48);

    assert_null(strchr(text, '\033'));
    assert_non_null(strchr(colourful, '\033'));
    free(text);
    free(colourful);
}

static void hostile_text_is_shown_harmless(void **state)
{
    struct inputs *in = *state;
    const struct part_step evil[] = {{1000, "\033]0;owned\a\033[2J"}};
    char *text;

    in->fixture.s.steps = (struct part_step *)evil;
    in->fixture.s.n_steps = 1;
    json_object_set_new(in->summary, "model", json_string("\033[31m"));
    text = draw(in, 80, false, 48);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\a'));
    assert_non_null(strstr(text, "?]0;owned"));
    free(text);
}

static void buckets_and_single_frames_draw_the_same_peaks(void **state)
{
    struct inputs *in = *state;
    char *by_bucket, *by_frame;

    in->fixture.s.n_hardware = 0; /* samples are thinned with the buckets */
    by_bucket = draw(in, 80, false, 48);
    by_frame = draw(in, 80, false, 0);
    assert_string_equal(by_bucket, by_frame);
    free(by_bucket);
    free(by_frame);
}

static void says_what_is_missing_by_leaving_it_out(void **state)
{
    struct inputs *in = *state;
    char *text;

    json_decref(in->summary);
    in->summary = json_object();
    in->fixture.s = (struct session){.header = in->fixture.s.header};
    in->fixture.r = (struct session_result){0};
    text = draw(in, 80, false, 48);
    assert_null(strstr(text, "Scenes"));
    assert_null(strstr(text, "Worst janks"));
    assert_null(strstr(text, "temperature"));
    free(text);
}

static void a_summary_is_said_not_to_tell_the_rest(void **state)
{
    struct inputs *in = *state;
    char *text;

    json_object_set_new(in->summary, "from_summary", json_true());
    json_object_set_new(in->summary, "perfdog_janks", json_null());
    text = draw(in, 80, false, 48);
    assert_non_null(strstr(text, "not told by a summary"));
    assert_null(strstr(text, "PerfDog jank 0"));
    free(text);
}

static void matches_its_golden_text(void **state)
{
    char *text = draw(*state, 80, false, 48);

    golden_check("views", "session.txt", text, strlen(text));
    free(text);
}

static int begin(void **state)
{
    struct inputs *in = malloc(sizeof *in);

    if (!in)
        return -1;
    fixture_fill(&in->fixture);
    in->summary = json_loads(summary_text, JSON_REJECT_DUPLICATES, NULL);
    *state = in;
    return in->summary ? 0 : -1;
}

static int end(void **state)
{
    struct inputs *in = *state;

    json_decref(in->summary);
    free(in);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_line_fits_the_terminal),
        TEST(without_colour_no_escape_is_printed),
        TEST(hostile_text_is_shown_harmless),
        TEST(buckets_and_single_frames_draw_the_same_peaks),
        TEST(says_what_is_missing_by_leaving_it_out),
        TEST(a_summary_is_said_not_to_tell_the_rest),
        TEST(matches_its_golden_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
