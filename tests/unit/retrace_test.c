/* R8 and ProGuard mappings: the cases of tests/golden/retrace (each made by hand from the rules in
 * docs/retrace.md), and what must hold for any mapping. */
#include "support/golden.h"
#include "symbols/retrace/retrace_build.h"
#include "symbols/retrace/retrace_format.h"
#include "symbols/retrace/retrace_memo.h"
#include "symbols_fixture.h"

#include <dirent.h>
#include <unistd.h>

#define CASES(X)                                                                                   \
    X(ambiguous_inlines)                                                                           \
    X(ambiguous_overloads)                                                                         \
    X(catch_all)                                                                                   \
    X(class_lines)                                                                                 \
    X(colon_in_file)                                                                               \
    X(crlf)                                                                                        \
    X(exception_lines)                                                                             \
    X(header_and_map_id)                                                                           \
    X(inline_stack)                                                                                \
    X(json_forms)                                                                                  \
    X(later_version)                                                                               \
    X(logcat_and_modules)                                                                          \
    X(lone_original_start)                                                                         \
    X(member_ranges)                                                                               \
    X(missing_lines)                                                                               \
    X(no_range)                                                                                    \
    X(odd_mappings)                                                                                \
    X(outline)                                                                                     \
    X(outline_in_outline)                                                                          \
    X(outline_with_inline)                                                                         \
    X(outside_ranges)                                                                              \
    X(overloads_on_one_line)                                                                       \
    X(qualified_names)                                                                             \
    X(recursion_in_inlines)                                                                        \
    X(residual_signature)                                                                          \
    X(rewrite_frame)                                                                               \
    X(rewrite_obfuscated)                                                                          \
    X(several_classes_of_a_file)                                                                   \
    X(source_files)                                                                                \
    X(synthesized)                                                                                 \
    X(utf8_names)                                                                                  \
    X(version_gates)                                                                               \
    X(with_and_without_range)

static const char *const cases[] = {
#define X(name) #name,
    CASES(X)
#undef X
};
#define N_CASES (sizeof cases / sizeof *cases)

#define OUT_CAP ((size_t)16 << 20)

/* The index of a mapping's text, open. */
struct open_index {
    struct buf bytes;
    struct retrace r;
    struct retrace_stats stats;
};

static void open_text(struct open_index *o, const char *text, size_t len)
{
    struct err err;

    buf_init(&o->bytes, OUT_CAP);
    if (!retrace_build(text, len, NULL, fixture_sink, &o->bytes, &o->stats, &err) ||
        !retrace_open(&o->r, o->bytes.at, o->bytes.len, &err))
        fail_msg("%s", err.text);
}

static void close_index(struct open_index *o)
{
    buf_fini(&o->bytes);
}

static char *case_file(const char *name, const char *file, size_t *len)
{
    char path[256];

    snprintf(path, sizeof path, "golden/retrace/%s/%s", name, file);
    return (char *)fixture_read(path, len);
}

static void open_case(struct open_index *o, const char *name)
{
    size_t len;
    char *text = case_file(name, "mapping", &len);

    open_text(o, text, len);
    free(text);
}

static void print(const struct retrace *r, bool verbose, const char *stack, size_t len,
                  struct buf *out)
{
    struct err err;

    buf_init(out, OUT_CAP);
    if (!retrace_print_text(r, &(struct retrace_print){.verbose = verbose}, stack, len, out, &err))
        fail_msg("%s", err.text);
}

/* The stack retraced by the mapping, both as text. */
static void assert_retraces(const char *mapping, const char *stack, const char *expected)
{
    struct open_index o;
    struct buf out;

    open_text(&o, mapping, strlen(mapping));
    print(&o.r, false, stack, strlen(stack), &out);
    buf_byte(&out, 0);
    assert_string_equal((char *)out.at, expected);
    buf_fini(&out);
    close_index(&o);
}

static bool has_file(const char *name, const char *file)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/golden/retrace/%s/%s", FW_SOURCE_DIR, name, file);
    return access(path, F_OK) == 0;
}

static void check_case(void **state)
{
    const char *name = *state;
    char golden[128];
    struct open_index o;
    struct buf out;
    size_t len;
    char *stack = case_file(name, "stack", &len);

    snprintf(golden, sizeof golden, "retrace/%s", name);
    open_case(&o, name);
    print(&o.r, false, stack, len, &out);
    golden_check(golden, "expected", out.at, out.len);
    buf_fini(&out);
    if (has_file(name, "expected_verbose")) {
        print(&o.r, true, stack, len, &out);
        golden_check(golden, "expected_verbose", out.at, out.len);
        buf_fini(&out);
    }
    close_index(&o);
    free(stack);
}

static void every_case_of_the_folder_is_run(void **state)
{
    DIR *folder = opendir(FW_SOURCE_DIR "/tests/golden/retrace");
    size_t n = 0;

    (void)state;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));)
        n += e->d_name[0] != '.';
    closedir(folder);
    assert_int_equal(n, N_CASES);
}

static void the_same_index_comes_of_pieces_of_any_size(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 7, 64, 1000};

    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        size_t len;
        char *text = case_file(cases[i], "mapping", &len);
        struct open_index whole;

        open_text(&whole, text, len);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            struct retrace_builder *b = retrace_builder_new(NULL);
            struct buf out;
            struct err err;

            buf_init(&out, OUT_CAP);
            for (size_t at = 0; at < len; at += sizes[k])
                assert_true(retrace_builder_feed(b, text + at,
                                                 len - at < sizes[k] ? len - at : sizes[k], &err));
            assert_true(retrace_builder_finish(b, fixture_sink, &out, NULL, &err));
            assert_int_equal(out.len, whole.bytes.len);
            assert_memory_equal(out.at, whole.bytes.at, out.len);
            buf_fini(&out);
            retrace_builder_free(b);
        }
        close_index(&whole);
        free(text);
    }
}

/* `text` with every "\n" as "\r\n"; the caller frees. */
static char *with_crlf(const char *text, size_t len, size_t *out_len)
{
    char *out = malloc(2 * len + 1);

    *out_len = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
            out[(*out_len)++] = '\r';
        out[(*out_len)++] = text[i];
    }
    return out;
}

static void line_ends_of_windows_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        size_t len, stack_len, crlf_len, crlf_stack_len;
        char *text = case_file(cases[i], "mapping", &len);
        char *stack = case_file(cases[i], "stack", &stack_len);
        char *crlf = with_crlf(text, len, &crlf_len);
        char *crlf_stack = with_crlf(stack, stack_len, &crlf_stack_len);
        struct open_index o, p;
        struct buf a, b;

        open_text(&o, text, len);
        open_text(&p, crlf, crlf_len);
        print(&o.r, true, stack, stack_len, &a);
        print(&p.r, true, crlf_stack, crlf_stack_len, &b);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.at, b.at, a.len);
        buf_fini(&a);
        buf_fini(&b);
        close_index(&o);
        close_index(&p);
        free(text);
        free(stack);
        free(crlf);
        free(crlf_stack);
    }
}

static void a_mapping_cut_anywhere_is_indexed_up_to_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        size_t len, stack_len;
        char *text = case_file(cases[i], "mapping", &len);
        char *stack = case_file(cases[i], "stack", &stack_len);

        for (size_t cut = 0; cut <= len; cut++) {
            struct buf bytes, out;
            struct retrace r;
            struct err err;

            buf_init(&bytes, OUT_CAP);
            if (retrace_build(text, cut, NULL, fixture_sink, &bytes, NULL, &err)) {
                assert_true(retrace_open(&r, bytes.at, bytes.len, &err));
                print(&r, false, stack, stack_len, &out);
                assert_true(out.len > 0);
                buf_fini(&out);
            } else {
                assert_int_equal(err.code, ERR_INVALID);
            }
            buf_fini(&bytes);
        }
        free(text);
        free(stack);
    }
}

#define MANY 500

static void put_class(struct buf *mapping, unsigned i)
{
    buf_printf(mapping,
               "com.acme.pack%u.Class%u -> c%u:\n"
               "    1:3:void inner%u(int):10:12 -> a\n"
               "    4:4:void com.acme.pack%u.Class%u.call():7:7 -> a\n"
               "    4:4:void outer():20 -> a\n"
               "    void other() -> b\n",
               i % 7, i, i, i, (i + 1) % MANY % 7, (i + 1) % MANY);
}

static void the_order_of_classes_changes_nothing(void **state)
{
    struct buf forward, backward, stack, a, b;
    struct open_index o, p;

    (void)state;
    buf_init(&forward, OUT_CAP);
    buf_init(&backward, OUT_CAP);
    buf_init(&stack, OUT_CAP);
    for (unsigned i = 0; i < MANY; i++) {
        put_class(&forward, i * 263 % MANY);
        put_class(&backward, MANY - 1 - i);
        buf_printf(&stack, "c%u: x\n\tat c%u.a(F:%u)\n\tat c%u.b(F)\n", i, i, i % 6, i);
    }
    open_text(&o, (char *)forward.at, forward.len);
    open_text(&p, (char *)backward.at, backward.len);
    assert_int_equal(o.r.counts.classes, MANY);
    print(&o.r, true, (char *)stack.at, stack.len, &a);
    print(&p.r, true, (char *)stack.at, stack.len, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    buf_fini(&a);
    buf_fini(&b);
    close_index(&o);
    close_index(&p);
    buf_fini(&forward);
    buf_fini(&backward);
    buf_fini(&stack);
}

static void a_search_among_many_ranges_finds_what_walking_finds(void **state)
{
    struct buf ordered, shuffled, stack, a, b;
    struct open_index o, p;

    (void)state;
    buf_init(&ordered, OUT_CAP);
    buf_init(&shuffled, OUT_CAP);
    buf_init(&stack, OUT_CAP);
    buf_text(&ordered, "com.acme.Big -> b:\n");
    buf_text(&shuffled, "com.acme.Big -> b:\n");
    for (unsigned i = 0; i < 400; i++) { /* lines 3 i + 1 and 3 i + 2; none is 3 i */
        unsigned k = i * 17 % 400;

        buf_printf(&ordered, "    %u:%u:void m():%u:%u -> a\n", 3 * i + 1, 3 * i + 2, 9 * i + 1,
                   9 * i + 2);
        buf_printf(&shuffled, "    %u:%u:void m():%u:%u -> a\n", 3 * k + 1, 3 * k + 2, 9 * k + 1,
                   9 * k + 2);
    }
    for (unsigned line = 0; line < 1300; line++)
        buf_printf(&stack, "\tat b.a(F:%u)\n", line);
    open_text(&o, (char *)ordered.at, ordered.len);
    open_text(&p, (char *)shuffled.at, shuffled.len);
    print(&o.r, false, (char *)stack.at, stack.len, &a);
    print(&p.r, false, (char *)stack.at, stack.len, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.at, b.at, a.len);
    buf_byte(&a, 0);
    assert_non_null(strstr((char *)a.at, "\tat com.acme.Big.m(Big.java:3592)\n")); /* line 1198 */
    assert_non_null(strstr((char *)a.at, "\tat com.acme.Big.a(Big.java:1200)\n")); /* in no range */
    buf_fini(&a);
    buf_fini(&b);
    close_index(&o);
    close_index(&p);
    buf_fini(&ordered);
    buf_fini(&shuffled);
    buf_fini(&stack);
}

static void the_header_is_kept(void **state)
{
    struct open_index o;

    (void)state;
    open_case(&o, "header_and_map_id");
    assert_string_equal(o.r.compiler, "R8");
    assert_string_equal(o.r.compiler_version, "8.3.37");
    assert_string_equal(o.r.min_api, "24");
    assert_string_equal(o.r.map_id, "3a5f0e2");
    assert_int_equal(strlen(o.r.map_hash), 64);
    assert_string_equal(o.r.map_version, "2.2");
    assert_false(o.r.later_version);
    assert_true(o.r.hash_known);
    assert_true(o.r.hash_matches);
    close_index(&o);
    open_case(&o, "later_version");
    assert_true(o.r.later_version);
    assert_string_equal(o.r.map_version, "99.0");
    assert_string_equal(o.r.map_id, "");
    assert_false(o.r.hash_known);
    close_index(&o);
}

static void a_text_that_is_not_the_hashed_one_is_told(void **state)
{
    size_t len;
    char *text = case_file("header_and_map_id", "mapping", &len);
    struct open_index o;

    (void)state;
    text[len - 2] ^= 1;
    open_text(&o, text, len);
    assert_true(o.r.hash_known);
    assert_false(o.r.hash_matches);
    close_index(&o);
    free(text);
}

static void what_is_skipped_is_counted(void **state)
{
    struct open_index o;

    (void)state;
    open_case(&o, "odd_mappings");
    assert_int_equal(o.r.counts.classes, 3);
    assert_int_equal(o.r.counts.duplicate_classes, 1);
    assert_int_equal(o.r.counts.bad_lines, 6);
    assert_int_equal(o.r.counts.ranges, 5);
    close_index(&o);
    open_case(&o, "json_forms");
    assert_int_equal(o.r.counts.infos, 3);
    assert_int_equal(o.r.counts.bad_infos, 3);
    close_index(&o);
    open_case(&o, "version_gates");
    assert_int_equal(o.r.counts.later_infos, 2);
    assert_int_equal(o.r.counts.infos, 2);
    close_index(&o);
    open_case(&o, "member_ranges");
    assert_int_equal(o.r.counts.fields, 2);
    close_index(&o);
}

static void a_frame_carries_the_id_of_its_mapping_as_its_file(void **state)
{
    size_t len = 0;
    const char *id = retrace_file_map_id("r8-map-id-3a5f0e2", 17, &len);

    (void)state;
    assert_int_equal(len, 7);
    assert_memory_equal(id, "3a5f0e2", 7);
    assert_null(retrace_file_map_id("r8-map-id-", 10, &len));
    assert_null(retrace_file_map_id("SourceFile", 10, &len));
}

static struct retrace_query query(const char *class, const char *method, int64_t line)
{
    return (struct retrace_query){.class_name = class,
                                  .class_len = strlen(class),
                                  .method = method,
                                  .method_len = strlen(method),
                                  .line = line};
}

static void a_lookup_tells_each_alternative_with_its_inlined_frames(void **state)
{
    struct open_index o;
    struct arena *a = arena_new(1 << 20);
    struct retrace_context context = {0, 0};
    struct retrace_query q = query("x", "a", 1);
    struct retrace_result result;

    (void)state;
    open_case(&o, "ambiguous_inlines");
    assert_true(retrace_lookup(&o.r, &q, &context, a, &result));
    assert_int_equal(result.n, 3);
    assert_true(result.ambiguous);
    assert_true(result.class_known);
    assert_false(result.truncated);
    assert_int_equal(result.at[1].n, 2);

    const struct retrace_frame *f = result.at[1].frames;

    assert_string_equal(f[0].class_name, "com.acme.game.Path");
    assert_string_equal(f[0].method, "cost");
    assert_string_equal(f[0].return_type, "int");
    assert_string_equal(f[0].arguments, "int");
    assert_null(f[0].file); /* the query has none */
    assert_int_equal(f[0].line, 11);
    assert_true(f[0].mapped);
    assert_string_equal(f[1].method, "plan");
    assert_int_equal(f[1].line, 77);
    close_index(&o);
    arena_free(a);
}

static void an_unknown_frame_comes_back_as_it_was(void **state)
{
    struct open_index o;
    struct arena *a = arena_new(1 << 20);
    struct retrace_context context = {0, 0};
    struct retrace_query q = query("java.lang.Thread", "run", RETRACE_NO_LINE);
    struct retrace_result result;

    (void)state;
    open_case(&o, "ambiguous_inlines");
    q.file = "Thread.java";
    q.file_len = 11;
    assert_true(retrace_lookup(&o.r, &q, &context, a, &result));
    assert_int_equal(result.n, 1);
    assert_false(result.class_known);
    assert_false(result.ambiguous);
    assert_int_equal(result.at[0].n, 1);
    assert_string_equal(result.at[0].frames[0].class_name, "java.lang.Thread");
    assert_string_equal(result.at[0].frames[0].method, "run");
    assert_string_equal(result.at[0].frames[0].file, "Thread.java");
    assert_int_equal(result.at[0].frames[0].line, RETRACE_NO_LINE);
    assert_false(result.at[0].frames[0].mapped);
    close_index(&o);
    arena_free(a);
}

static void an_outline_is_dropped_and_hands_its_line_on(void **state)
{
    struct open_index o;
    struct arena *a = arena_new(1 << 20);
    struct retrace_context context = {0, 0};
    struct retrace_query outline = query("a", "a", 1), caller = query("b", "s", 27);
    struct retrace_result result;

    (void)state;
    open_case(&o, "outline");
    assert_true(retrace_lookup(&o.r, &outline, &context, a, &result));
    assert_int_equal(result.n, 0);
    assert_int_equal(context.outline_line, 1);
    assert_true(retrace_lookup(&o.r, &caller, &context, a, &result));
    assert_int_equal(result.n, 1);
    assert_int_equal(result.at[0].frames[0].line, 98);
    assert_int_equal(context.outline_line, 0);
    close_index(&o);
    arena_free(a);
}

static void names_with_a_nul_inside_are_not_found(void **state)
{
    struct open_index o;

    (void)state;
    open_case(&o, "class_lines");
    assert_string_equal(retrace_class(&o.r, "a.a", 3), "com.acme.game.Main");
    assert_null(retrace_class(&o.r, "a.a\0", 4));
    assert_null(retrace_class(&o.r, "", 0));
    close_index(&o);
}

static void a_line_that_stands_for_very_many_is_truncated(void **state)
{
    struct open_index o;
    struct arena *a = arena_new(1 << 20);
    struct retrace_context context = {0, 0};
    struct retrace_query q = query("a", "a", 7);
    struct retrace_result result;
    const char *mapping = "com.acme.A -> a:\n    void m():1:2147483647 -> a\n";

    (void)state;
    open_text(&o, mapping, strlen(mapping));
    assert_true(retrace_lookup(&o.r, &q, &context, a, &result));
    assert_int_equal(result.n, RETRACE_FRAMES_MAX);
    assert_true(result.truncated);
    close_index(&o);
    arena_free(a);
}

static void lines_that_nobody_can_see_are_not_counted_one_by_one(void **state)
{
    const char *mapping = "# {id: 'com.android.tools.r8.mapping', version: '2.0'}\n"
                          "com.acme.A -> a:\n"
                          "    0:1:void m():1:2147483647 -> a\n"
                          "    1:1:void n():1:2147483647 -> b\n"
                          "    # {id: 'com.android.tools.r8.synthesized'}\n"
                          "    1:1:void o():1:2147483647 -> c\n"
                          "    1:1:void p():7 -> c\n"
                          "    # {id: 'com.android.tools.r8.rewriteFrame', conditions: "
                          "['throws(Lx/Y;)'], actions: ['removeInnerFrames(1)']}\n";

    (void)state;
    assert_retraces(mapping, "\tat a.a(F)\n\tat a.b(F:1)\nx.Y\n\tat a.c(F:1)\n",
                    "\tat com.acme.A.m(A.java)\nx.Y\n\tat com.acme.A.p(A.java:7)\n");
}

static void a_rule_holds_right_under_its_exception_alone(void **state)
{
    (void)state;
    assert_retraces(
        "# {id: 'com.android.tools.r8.mapping', version: '2.0'}\n"
        "com.acme.A -> a:\n"
        "    1:1:void com.acme.B.in():5:5 -> a\n"
        "    1:1:void out():6 -> a\n"
        "    # {id: 'com.android.tools.r8.rewriteFrame', conditions: ['throws(Lx/Y;)'], "
        "actions: ['removeInnerFrames(1)']}\n",
        "x.Y: no\n\tat a.a(F:1)\nx.Z: no\n\tat a.a(F:1)\n\tat a.a(F:1)\n",
        "x.Y: no\n\tat com.acme.A.out(A.java:6)\n"
        "x.Z: no\n\tat com.acme.B.in(B.java:5)\n\tat com.acme.A.out(A.java:6)\n"
        "\tat com.acme.B.in(B.java:5)\n\tat com.acme.A.out(A.java:6)\n");
}

static void what_is_remembered_prints_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        struct retrace_memo *memo = retrace_memo_new();
        const struct retrace_print options = {.memo = memo};
        struct open_index o;
        struct buf once, again;
        struct err err;
        size_t len;
        char *stack = case_file(cases[i], "stack", &len);

        open_case(&o, cases[i]);
        print(&o.r, false, stack, len, &once);
        for (int round = 0; round < 3; round++) {
            buf_init(&again, OUT_CAP);
            assert_true(retrace_print_text(&o.r, &options, stack, len, &again, &err));
            assert_int_equal(again.len, once.len);
            assert_memory_equal(again.at, once.at, once.len);
            buf_fini(&again);
        }
        buf_fini(&once);
        close_index(&o);
        free(stack);
        retrace_memo_free(memo);
    }
}

static void a_full_memory_begins_anew(void **state)
{
    struct retrace_memo *memo = retrace_memo_new();
    char line[32], text[4096];
    const char *out;
    size_t len;

    (void)state;
    memset(text, 'x', sizeof text);
    for (unsigned i = 0; i < 3 * RETRACE_MEMO_BYTES / sizeof text; i++) {
        int n = snprintf(line, sizeof line, "at %u", i);

        text[0] = (char)i;
        retrace_memo_keep(memo, line, (size_t)n, text, sizeof text);
        assert_true(retrace_memo_find(memo, line, (size_t)n, &out, &len));
        assert_int_equal(len, sizeof text);
        assert_int_equal(out[0], (char)i);
    }
    assert_false(retrace_memo_find(memo, "at 0", 4, &out, &len));
    assert_false(retrace_memo_find(memo, "never", 5, &out, &len));
    retrace_memo_free(memo);
}

static void text_without_a_class_is_no_mapping(void **state)
{
    static const char *const texts[] = {
        "", "\n\n", "# compiler: R8\n", "hello\nworld\n", "    void a() -> b\n", "a -> b\n"};
    struct buf out;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buf_init(&out, OUT_CAP);
        assert_false(
            retrace_build(texts[i], strlen(texts[i]), NULL, fixture_sink, &out, NULL, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(out.len, 0);
        buf_fini(&out);
        assert_false(i != 5 && retrace_looks_like_mapping(texts[i], strlen(texts[i])));
    }
    assert_true(retrace_looks_like_mapping("# compiler: R8\r\n\r\na.B -> c:\r\n", 31));
    assert_true(retrace_looks_like_mapping("\xef\xbb\xbf"
                                           "a.B -> c:\n",
                                           13));
    assert_false(retrace_looks_like_mapping("\x7f"
                                            "ELF",
                                            4));
}

static void past_a_limit_it_says_so(void **state)
{
    const char *text = "com.acme.A -> a:\n    1:1:void m():5:5 -> a\n";
    const struct retrace_limits small = {.mapping_bytes = 10}, tight = {.memory_bytes = 10000};
    struct buf out;
    struct err err;

    (void)state;
    buf_init(&out, OUT_CAP);
    assert_false(retrace_build(text, strlen(text), &small, fixture_sink, &out, NULL, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_false(retrace_build(text, strlen(text), &tight, fixture_sink, &out, NULL, &err));
    assert_int_equal(err.code, ERR_TOO_BIG);
    buf_fini(&out);
    buf_init(&out, 16); /* a sink that fails */
    assert_false(retrace_build(text, strlen(text), NULL, fixture_sink, &out, NULL, &err));
    assert_int_equal(err.code, ERR_INTERNAL);
    buf_fini(&out);
}

static void a_line_that_is_too_long_is_skipped_and_counted(void **state)
{
    struct buf text;
    struct open_index o;

    (void)state;
    buf_init(&text, OUT_CAP);
    buf_text(&text, "com.acme.A -> a:\n    void ");
    for (size_t i = 0; i < RETRACE_MAPPING_LINE_BYTES; i++)
        buf_byte(&text, 'x');
    buf_text(&text, "() -> b\n    void m() -> a\n");
    open_text(&o, (char *)text.at, text.len);
    assert_int_equal(o.r.counts.bad_lines, 1);
    assert_int_equal(o.r.counts.ranges, 1);
    close_index(&o);
    buf_fini(&text);
}

static void a_line_of_a_stack_that_is_too_long_is_passed_on(void **state)
{
    struct open_index o;
    struct buf stack, out;

    (void)state;
    open_case(&o, "class_lines");
    buf_init(&stack, OUT_CAP);
    buf_text(&stack, "\tat a.a.main(SourceFile)");
    while (stack.len <= RETRACE_LINE_BYTES_MAX)
        buf_byte(&stack, ' ');
    buf_byte(&stack, '\n');
    print(&o.r, false, (char *)stack.at, stack.len, &out);
    assert_int_equal(out.len, stack.len);
    assert_memory_equal(out.at, stack.at, out.len);
    buf_fini(&out);
    buf_fini(&stack);
    close_index(&o);
}

/* Builds with the nth allocation failing, from the first to one that no longer happens. */
static void building_survives_every_allocation_that_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        size_t len;
        char *text = case_file(cases[i], "mapping", &len);
        bool ok = false;

        for (size_t nth = 1; !ok; nth++) {
            const struct retrace_limits limits = {.fail_at = nth};
            struct buf out;
            struct err err;

            buf_init(&out, OUT_CAP);
            ok = retrace_build(text, len, &limits, fixture_sink, &out, NULL, &err);
            assert_true(ok || err.code == ERR_TOO_BIG || err.code == ERR_INTERNAL);
            assert_true(nth < 1000);
            buf_fini(&out);
        }
        free(text);
    }
}

static void lookups_survive_every_allocation_that_fails(void **state)
{
    struct open_index o;
    size_t len;
    char *stack = case_file("missing_lines", "stack", &len);
    struct arena *a = arena_new(1 << 20);
    size_t failed = 0;

    (void)state;
    open_case(&o, "missing_lines");
    for (char *line = stack, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct retrace_line parts;
        bool ok = false;

        retrace_read_line(&o.r, line, (size_t)(end - line), &parts);
        assert_int_equal(parts.kind, RETRACE_LINE_FRAME);
        for (size_t nth = 1; !ok; nth++) {
            struct retrace_context context = {7, 9};
            struct retrace_result result;

            arena_reset(a);
            arena_fail_at(a, nth);
            ok = retrace_lookup(&o.r, &parts.query, &context, a, &result);
            failed += !ok;
            assert_true(ok || context.outline_line == 9);
            assert_true(nth < 1000);
        }
        arena_fail_at(a, 0);
    }
    assert_true(failed > 10);
    free(stack);
    arena_free(a);
    close_index(&o);
}

/* Whatever the index says, reading it stays inside of it (seen by sanitizers and valgrind). */
static void a_damaged_index_is_refused_or_read_safely(void **state)
{
    static const char *const some[] = {"outline", "rewrite_frame", "missing_lines", "synthesized"};
    size_t refused = 0, read = 0;

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct open_index o;
        size_t len;
        char *stack = case_file(some[i], "stack", &len);

        open_case(&o, some[i]);
        for (size_t at = 0; at < o.bytes.len; at++)
            for (unsigned bit = 0; bit < 8; bit += 3) {
                unsigned char *copy = malloc(o.bytes.len);
                struct retrace r;
                struct err err;
                struct buf out;

                memcpy(copy, o.bytes.at, o.bytes.len);
                copy[at] ^= (unsigned char)(1u << bit);
                if (retrace_open(&r, copy, o.bytes.len, &err)) {
                    print(&r, true, stack, len, &out);
                    buf_fini(&out);
                    read++;
                } else {
                    refused++;
                }
                free(copy);
            }
        for (size_t cut = 0; cut < o.bytes.len; cut++) {
            struct err err;
            struct retrace r;

            assert_false(retrace_open(&r, o.bytes.at, cut, &err));
        }
        close_index(&o);
        free(stack);
    }
    assert_true(refused > 1000 && read > 1000);
}

static void an_index_of_another_version_is_told(void **state)
{
    struct open_index o;
    struct retrace r;
    struct err err;

    (void)state;
    open_case(&o, "outline");
    assert_true(retrace_looks_like(o.bytes.at, o.bytes.len));
    store32(o.bytes.at + RETRACE_AT_VERSION, RETRACE_VERSION + 1);
    assert_false(retrace_open(&r, o.bytes.at, o.bytes.len, &err));
    assert_non_null(strstr(err.text, "version 2"));
    assert_false(retrace_open(&r, "nonsense", 8, &err));
    close_index(&o);
}

int main(void)
{
    const struct CMUnitTest golden[] = {
#define X(name) {#name, check_case, NULL, NULL, #name},
        CASES(X)
#undef X
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_of_the_folder_is_run),
        cmocka_unit_test(the_same_index_comes_of_pieces_of_any_size),
        cmocka_unit_test(line_ends_of_windows_change_nothing),
        cmocka_unit_test(a_mapping_cut_anywhere_is_indexed_up_to_there),
        cmocka_unit_test(the_order_of_classes_changes_nothing),
        cmocka_unit_test(a_search_among_many_ranges_finds_what_walking_finds),
        cmocka_unit_test(the_header_is_kept),
        cmocka_unit_test(a_text_that_is_not_the_hashed_one_is_told),
        cmocka_unit_test(what_is_skipped_is_counted),
        cmocka_unit_test(a_frame_carries_the_id_of_its_mapping_as_its_file),
        cmocka_unit_test(a_lookup_tells_each_alternative_with_its_inlined_frames),
        cmocka_unit_test(an_unknown_frame_comes_back_as_it_was),
        cmocka_unit_test(an_outline_is_dropped_and_hands_its_line_on),
        cmocka_unit_test(names_with_a_nul_inside_are_not_found),
        cmocka_unit_test(a_line_that_stands_for_very_many_is_truncated),
        cmocka_unit_test(lines_that_nobody_can_see_are_not_counted_one_by_one),
        cmocka_unit_test(a_rule_holds_right_under_its_exception_alone),
        cmocka_unit_test(what_is_remembered_prints_the_same),
        cmocka_unit_test(a_full_memory_begins_anew),
        cmocka_unit_test(text_without_a_class_is_no_mapping),
        cmocka_unit_test(past_a_limit_it_says_so),
        cmocka_unit_test(a_line_that_is_too_long_is_skipped_and_counted),
        cmocka_unit_test(a_line_of_a_stack_that_is_too_long_is_passed_on),
        cmocka_unit_test(building_survives_every_allocation_that_fails),
        cmocka_unit_test(lookups_survive_every_allocation_that_fails),
        cmocka_unit_test(a_damaged_index_is_refused_or_read_safely),
        cmocka_unit_test(an_index_of_another_version_is_told),
    };
    int failed = cmocka_run_group_tests_name("golden", golden, NULL, NULL);

    return failed ? failed : cmocka_run_group_tests_name("properties", tests, NULL, NULL);
}
