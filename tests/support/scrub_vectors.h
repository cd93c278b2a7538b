/*
 * scrub_vectors: free text and what is left of it. The rules stand in docs/privacy.md; the device
 * and the server are held to the same.
 */
#pragma once

struct scrub_vector {
    const char *in, *out;
};

static const struct scrub_vector scrub_mails[] = {
    {"mail me: jane.doe+x@mail.example.org!", "mail me: [mail]!"},
    {"jane@example.org", "[mail]"},
    {"12345@qq.example", "[mail]"},
    {"我的邮箱abc@qq.example谢谢", "我的邮箱[mail]谢谢"},
    {"abc＠qq.example", "[mail]"},
    {"meet @ noon, a@b, @team", "meet @ noon, a@b, @team"},
};
static const struct scrub_vector scrub_numbers[] = {
    {"call +49 (170) 123-4567 now", "call +[number] now"},
    {"13800138000", "[number]"},
    {"138 0013 8000.", "[number]."},
    {"電話１３８００１３８０００", "電話[number]"},
    {"id_1234567x", "id_[number]x"},
    {"10.20.30.100", "[number]"},
    {"fell from 120 to 30 fps in 2.14.0", "fell from 120 to 30 fps in 2.14.0"},
    {"room 123456", "room 123456"},
    {"123456   7", "123456   7"}, /* three blanks: two numbers */
};
static const struct scrub_vector scrub_urls[] = {
    {"see https://x.example/a/b?token=abc&u=1 please", "see https://x.example/a/b?[query] please"},
    {"http://x.example/#access", "http://x.example/?[query]"},
    {"why? #1", "why? #1"},
    {"http://u@x.example/a", "http://[mail]/a"},
};
