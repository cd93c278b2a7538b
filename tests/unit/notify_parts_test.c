/* server/notify without network and database: signatures, seals, addresses, texts, settings. */
#include "server/notify/channel.h"
#include "server/notify/http_out.h"
#include "server/notify/markup.h"
#include "server/notify/notify.h"
#include "server/notify/sign.h"
#include "server/notify/text.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
    *state = arena_new((size_t)8 << 20);
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* Signatures ---------------------------------------------------------------------------------- */

static void signs_for_feishu_as_published(void **state)
{
    assert_string_equal(feishu_sign(*state, "SECabc", 1599360473),
                        "KjJCRpeZcpDq6nFA4wlSAm5ZsE3Y8HuB1O1Sgv2Y9xA=");
}

static void signs_for_dingtalk_as_published(void **state)
{
    assert_string_equal(dingtalk_sign(*state, "SECabc", 1599360473000),
                        "3SJkK5Fm70JVVkwmvZFkgdPlr53Kn2utLHLz9DzuOSc%3D");
}

/* The example of the Standard Webhooks specification. */
static void signs_webhooks_as_the_standard_shows(void **state)
{
    assert_string_equal(webhook_sign(*state, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                     "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                                     "{\"test\": 2432232314}"),
                        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

static void takes_a_key_that_is_no_base64_as_it_is_and_refuses_a_broken_one(void **state)
{
    assert_non_null(webhook_sign(*state, "plain key", "id", 1, "{}"));
    assert_null(webhook_sign(*state, "whsec_***", "id", 1, "{}"));
}

static void base64_of_any_length_comes_back(void **state)
{
    unsigned char bytes[40];

    for (size_t n = 0; n < sizeof bytes; n++) {
        const char *text;
        unsigned char *back;
        size_t len = 99;

        bytes[n] = (unsigned char)(n * 37);
        text = base64(*state, bytes, n);
        back = base64_bytes(*state, text, &len);
        assert_non_null(back);
        assert_int_equal(len, n);
        assert_memory_equal(back, bytes, n);
    }
}

/* Seals --------------------------------------------------------------------------------------- */

static void opens_what_it_sealed_and_nothing_else(void **state)
{
    struct seal_key key = {{1}}, other = {{2}};
    struct bytes sealed, again;
    const char *text;
    struct err err;

    assert_true(seal(&key, "channel 1 slack https://a:443", "secret text", *state, &sealed, &err));
    assert_null(memmem(sealed.at, sealed.len, "secret", 6));
    assert_true(seal(&key, "channel 1 slack https://a:443", "secret text", *state, &again, &err));
    assert_true(memcmp(sealed.at, again.at, sealed.len) != 0); /* never the same bytes twice */
    assert_true(unseal(&key, "channel 1 slack https://a:443", sealed, *state, &text, &err));
    assert_string_equal(text, "secret text");
    assert_false(unseal(&other, "channel 1 slack https://a:443", sealed, *state, &text, &err));
    assert_int_equal(err.code, ERR_FORBIDDEN);
    assert_false(unseal(&key, "channel 1 slack https://b:443", sealed, *state, &text, &err));
}

static void refuses_sealed_bytes_that_were_cut_or_changed(void **state)
{
    struct seal_key key = {{1}};
    struct bytes sealed;
    unsigned char copy[256];
    const char *text;
    struct err err;

    assert_true(seal(&key, "x", "secret text", *state, &sealed, &err));
    for (size_t i = 0; i < sealed.len; i++) {
        memcpy(copy, sealed.at, sealed.len);
        copy[i] ^= 1;
        assert_false(unseal(&key, "x", (struct bytes){copy, sealed.len}, *state, &text, &err));
        if (i)
            assert_false(unseal(&key, "x", (struct bytes){sealed.at, i}, *state, &text, &err));
    }
    assert_true(unseal(&key, "x", (struct bytes){NULL, 0}, *state, &text, &err));
    assert_string_equal(text, "");
}

/* Addresses ----------------------------------------------------------------------------------- */

static bool allowed(enum http_out_reach reach, const char *address, bool tls)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return http_out_allowed(reach, (struct sockaddr *)&v4, tls);
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return http_out_allowed(reach, (struct sockaddr *)&v6, tls);
}

static void reaches_only_the_networks_of_its_setting(void **state)
{
    static const struct {
        const char *address;
        enum http_out_reach from; /* the first that may, with TLS; REACH_ANY + 1: none */
    } all[] = {
        {"93.184.216.34", REACH_PUBLIC},
        {"2606:2800:220:1::1", REACH_PUBLIC},
        {"10.1.2.3", REACH_PRIVATE},
        {"172.16.0.1", REACH_PRIVATE},
        {"172.31.255.255", REACH_PRIVATE},
        {"172.32.0.1", REACH_PUBLIC},
        {"192.168.1.1", REACH_PRIVATE},
        {"100.64.0.1", REACH_PRIVATE},
        {"fd12:3456::1", REACH_PRIVATE},
        {"127.0.0.1", REACH_LOOPBACK},
        {"127.255.0.9", REACH_LOOPBACK},
        {"::1", REACH_LOOPBACK},
        {"::ffff:127.0.0.1", REACH_LOOPBACK},
        {"::ffff:10.0.0.1", REACH_PRIVATE},
        {"64:ff9b::7f00:1", REACH_LOOPBACK},
        {"64:ff9b::a9fe:a9fe", REACH_ANY},
        {"2002:7f00:1::1", REACH_LOOPBACK},
        {"169.254.169.254", REACH_ANY},
        {"::ffff:169.254.169.254", REACH_ANY},
        {"100.100.100.200", REACH_ANY},
        {"192.0.0.192", REACH_ANY},
        {"fd00:ec2::254", REACH_ANY},
        {"fd20:ce::254", REACH_ANY},
        {"fe80::1", REACH_ANY},
        {"0.0.0.0", REACH_ANY},
        {"::", REACH_ANY},
        {"224.0.0.1", REACH_ANY + 1},
        {"255.255.255.255", REACH_ANY + 1},
        {"ff02::1", REACH_ANY + 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int reach = REACH_PUBLIC; reach <= REACH_ANY; reach++)
            if (allowed((enum http_out_reach)reach, all[i].address, true) !=
                (reach >= (int)all[i].from))
                fail_msg("%s with reach %d", all[i].address, reach);
}

static void public_addresses_want_tls(void **state)
{
    (void)state;
    assert_false(allowed(REACH_PUBLIC, "93.184.216.34", false));
    assert_false(allowed(REACH_LOOPBACK, "93.184.216.34", false));
    assert_true(allowed(REACH_ANY, "93.184.216.34", false));
    assert_true(allowed(REACH_PRIVATE, "10.0.0.1", false));
}

static void an_unknown_reach_is_the_default(void **state)
{
    (void)state;
    assert_int_equal(http_out_reach("public"), REACH_PUBLIC);
    assert_int_equal(http_out_reach("any"), REACH_ANY);
    assert_int_equal(http_out_reach("everything"), REACH_PRIVATE);
}

static void takes_urls_of_http_only_and_without_passwords(void **state)
{
    static const char *const bad[] = {
        "ftp://a/", "file:///etc/passwd", "https://u:p@a/", "https://u@a/",       "a.example.org",
        "https://", "https://a b/",       "javascript:x",   "https://a/\r\nX: y", "gopher://a/"};
    const char *origin;
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_out_origin(bad[i], *state, &origin, &err))
            fail_msg("%s is taken as %s", bad[i], origin);
    assert_true(http_out_origin("https://Hooks.Example.org/x?y=1", *state, &origin, &err));
    assert_string_equal(origin, "https://hooks.example.org:443");
    assert_true(http_out_origin("http://[::1]:9093", *state, &origin, &err));
    assert_string_equal(origin, "http://[::1]:9093");
}

/* Texts --------------------------------------------------------------------------------------- */

static const char *through(struct arena *mem, void (*put)(struct buf *, const char *),
                           const char *text)
{
    struct buf b;
    const char *out;

    buf_init(&b, 65536);
    put(&b, text);
    out = buf_keep(&b, mem);
    buf_fini(&b);
    return out;
}

static void cuts_at_characters_and_replaces_what_is_no_text(void **state)
{
    assert_string_equal(text_cut(*state, NULL, 10), "");
    assert_string_equal(text_cut(*state, "帧帧帧", 7), "帧帧");
    assert_string_equal(text_cut(*state, "帧帧帧", 9), "帧帧帧");
    assert_string_equal(text_cut(*state,
                                 "a\xff"
                                 "b",
                                 10),
                        "a?b");
    assert_string_equal(text_line(*state, "a\nb\x01", 10), "a b ");
}

static void escapes_for_each_service(void **state)
{
    assert_string_equal(through(*state, put_escaped, "<!channel> & co"),
                        "&lt;!channel&gt; &amp; co");
    assert_string_equal(through(*state, put_markdown, "**a** [x](y)"),
                        "\\*\\*a\\*\\* \\[x\\]\\(y\\)");
    assert_string_equal(through(*state, put_url, "a b/c=d&é"), "a%20b%2Fc%3Dd%26%C3%A9");
}

static void code_cannot_be_ended_from_inside(void **state)
{
    assert_string_equal(through(*state, notify_put_code, "f(x)"), "` f(x) `");
    assert_string_equal(through(*state, notify_put_code, "a``b`"), "``` a``b` ```");
    assert_string_equal(through(*state, notify_put_code, "a\n/close"), "` a /close `");
}

static const char *wiki(struct arena *mem, const char *markdown)
{
    struct buf b;
    const char *out;

    buf_init(&b, 65536);
    put_markup(&b, markdown, MARKUP_WIKI);
    out = buf_keep(&b, mem);
    buf_fini(&b);
    return out;
}

static const char *html(struct arena *mem, const char *markdown)
{
    struct buf b;
    const char *out;

    buf_init(&b, 65536);
    put_markup(&b, markdown, MARKUP_HTML);
    out = buf_keep(&b, mem);
    buf_fini(&b);
    return out;
}

static void markdown_becomes_wiki_text(void **state)
{
    assert_string_equal(wiki(*state, "# Title\n- one\n- **two**\n"), "h1. Title\n* one\n* *two*\n");
    assert_string_equal(wiki(*state, "| a | b |\n|---|---|\n| 1 | 2 |\n"),
                        "|| a || b ||\n| 1 | 2 |\n");
    assert_string_equal(wiki(*state, "```\nf {x} *y*\n{noformat}\n```\n"),
                        "{noformat}\nf {x} *y*\n{ noformat}\n{noformat}\n");
    assert_string_equal(wiki(*state, "see `a*b` at [page](https://x/y)"),
                        "see {{a*b}} at [page|https://x/y]\n");
    assert_string_equal(wiki(*state, "{color} [~admin]"), "\\{color\\} \\[\\~admin\\]\n");
}

static void markdown_becomes_html_that_runs_nothing(void **state)
{
    assert_string_equal(html(*state, "<script>"), "&#60;script&#62;<br>\n");
    assert_string_equal(html(*state, "[x](javascript:alert)"), "[x](javascript:alert)<br>\n");
    assert_string_equal(html(*state, "[x](https://a/\"onclick=)"),
                        "<a href=\"https://a/&#34;onclick=\">x</a><br>\n");
    assert_string_equal(html(*state, "```\na<b\n"), "<pre>a&#60;b\n</pre>\n");
    assert_string_equal(html(*state, "- a\n\ntext"), "<ul>\n<li>a</li>\n</ul>\n<br>\ntext<br>\n");
}

/* Whatever the text, the converters end and write text. */
static void any_bytes_are_some_markdown(void **state)
{
    static const char pieces[][6] = {"**",  "`", "``", "[",  "](", "http", "|", "\n",
                                     "```", "#", "- ", "\\", "{",  "a",    "<", ")"};
    unsigned seed = 1;
    char text[400];

    for (int round = 0; round < 2000; round++) {
        size_t n = 0;

        for (int i = 0; i < 60; i++) {
            const char *piece = pieces[(seed = seed * 1103515245 + 12345) >> 16 & 15];

            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        text[n] = '\0';
        assert_non_null(wiki(*state, text));
        assert_null(strstr(html(*state, text), "<http"));
        arena_reset(*state);
    }
}

static void gitlab_finds_no_commands(void **state)
{
    assert_string_equal(through(*state, put_without_commands, "a\n/close\n  /assign @x\n"),
                        "a\n\\/close\n\\/assign @x\n");
    assert_string_equal(through(*state, put_without_commands, "```\n/data/app\n```\n/label"),
                        "```\n/data/app\n```\n\\/label");
}

/* Channels ------------------------------------------------------------------------------------ */

static bool check(struct arena *mem, const char *kind, const char *settings, const char *secrets,
                  struct err *err)
{
    json_t *s = json_loads(settings, 0, NULL), *x = json_loads(secrets, 0, NULL);
    const char *text, *target;
    bool ok = channel_check(channel_kind_find(kind), s, x, mem, &text, &target, err);

    json_decref(s);
    json_decref(x);
    return ok;
}

static void says_which_setting_is_wrong(void **state)
{
    static const struct {
        const char *kind, *settings, *secrets, *field;
    } bad[] = {
        {"slack", "{}", "{}", "secrets.url"},
        {"slack", "{\"url\":\"https://a\"}", "{\"url\":\"https://a\"}", "settings."},
        {"slack", "{}", "{\"url\":\"ftp://a\"}", "secrets.url"},
        {"webhook", "{}", "{\"url\":\"https://a\"}", "secrets.key"},
        {"github", "{\"repository\":\"a\"}", "{\"token\":\"t\"}", "settings.repository"},
        {"github", "{\"repository\":\"a/b/c\"}", "{\"token\":\"t\"}", "settings.repository"},
        {"gitlab", "{\"project\":\"a/b\",\"labels\":[1]}", "{\"token\":\"t\"}", "settings.labels"},
        {"gitlab", "{\"project\":\"a/b\",\"owners\":{\"x\":2}}", "{\"token\":\"t\"}",
         "settings.owners"},
        {"gitlab", "{\"project\":\"a\\nb\"}", "{\"token\":\"t\"}", "settings.project"},
        {"gitlab", "{\"project\":\"a\"}", "{\"token\":\"t\\r\\nX: y\"}", "secrets.token"},
        {"jira", "{\"url\":\"https://a\",\"project\":\"A\"}", "{\"token\":\"t\"}",
         "settings.username"},
        {"jira", "{\"url\":\"https://a\",\"project\":\"A\",\"flavour\":\"lou\"}",
         "{\"token\":\"t\"}", "settings.flavour"},
        {"alertmanager", "{}", "{}", "settings.url"},
        {"alertmanager", "{\"url\":\"https://a/?token=t\"}", "{}", "settings.url"},
        {"alertmanager", "{\"url\":\"https://u:p@a\"}", "{}", "settings.url"},
        {"alertmanager", "{\"url\":\"http://a\",\"resend_s\":1}", "{}", "settings.resend_s"},
        {"tapd", "{\"workspace\":\"1\",\"username\":\"u\"}", "{}", "secrets.password"},
    };
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (check(*state, bad[i].kind, bad[i].settings, bad[i].secrets, &err))
            fail_msg("%s %s is taken", bad[i].kind, bad[i].settings);
        assert_string_equal(err.field, bad[i].field);
    }
    assert_true(check(*state, "jira",
                      "{\"url\":\"https://a\",\"project\":\"A\",\"flavour\":\"server\"}",
                      "{\"token\":\"t\"}", &err));
}

static void blots_out_what_a_secret_url_asks(void **state)
{
    static const struct {
        const char *said, *shown;
    } cases[] = {
        {"unknown key abc123", "unknown key ***"},
        {"no such robot: q=1%2B2-secret", "no such robot: ***"},
        {"token 1+2-secret is not valid", "token *** is not valid"}, /* decoded by the service */
        {"GET /send?key=abc123&q=1%2B2-secret&v=1", "GET ***"},
        {"v=1 is out of date", "v=1 is out of date"},
        {"https://chat.example.org/send?key=abc123&q=1%2B2-secret&v=1 gone", "*** gone"},
    };
    struct channel c = {.secrets = json_loads("{\"url\":\"https://chat.example.org/send?key=abc123&"
                                              "q=1%2B2-secret&v=1\"}",
                                              0, NULL)};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(channel_redact(&c, cases[i].said, *state), cases[i].shown);
    channel_close(&c);
}

static void blots_out_secrets_and_parts_of_secret_urls(void **state)
{
    struct channel c = {.secrets = json_loads("{\"url\":\"https://hooks.slack.com/services/T0/B0/"
                                              "XXXXXXXXXXXXXXXX\",\"key\":\"abcdefgh\"}",
                                              0, NULL)};

    assert_string_equal(channel_redact(&c, "no XXXXXXXXXXXXXXXX at hooks.slack.com", *state),
                        "no *** at ***");
    assert_string_equal(channel_redact(&c, "key=abcdefgh!", *state), "key=***!");
    assert_string_equal(channel_redact(&c, "nothing", *state), "nothing");
    channel_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(signs_for_feishu_as_published),
        T(signs_for_dingtalk_as_published),
        T(signs_webhooks_as_the_standard_shows),
        T(takes_a_key_that_is_no_base64_as_it_is_and_refuses_a_broken_one),
        T(base64_of_any_length_comes_back),
        T(opens_what_it_sealed_and_nothing_else),
        T(refuses_sealed_bytes_that_were_cut_or_changed),
        T(reaches_only_the_networks_of_its_setting),
        T(public_addresses_want_tls),
        T(an_unknown_reach_is_the_default),
        T(takes_urls_of_http_only_and_without_passwords),
        T(cuts_at_characters_and_replaces_what_is_no_text),
        T(escapes_for_each_service),
        T(code_cannot_be_ended_from_inside),
        T(markdown_becomes_wiki_text),
        T(markdown_becomes_html_that_runs_nothing),
        T(any_bytes_are_some_markdown),
        T(gitlab_finds_no_commands),
        T(says_which_setting_is_wrong),
        T(blots_out_secrets_and_parts_of_secret_urls),
        T(blots_out_what_a_secret_url_asks),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
