/* TAPD, open API (https://open.tapd.cn): bugs of a workspace. It answers {"status": 1, "data": …,
 * "info": …}; a status other than 1 is a failure, whatever HTTP says. */
#include "server/notify/text.h"
#include "server/notify/tracker.h"

#include <string.h>

#define BODY_MAX 60000
#define PAGE "200"

static const char *workspace(struct sending *s)
{
    return channel_setting(s->channel, "workspace", "");
}

static struct tracker_call call(struct sending *s, const char *method, const char *path,
                                const char *form)
{
    return (struct tracker_call){.method = method,
                                 .url = send_printf(s, "%s/%s", send_base(s), path),
                                 .form = form,
                                 .user = channel_setting(s->channel, "username", ""),
                                 .password = channel_secret(s->channel, "password")};
}

/* *data is borrowed from *answer, which the caller owns. */
static bool ask(struct sending *s, const struct tracker_call *c, json_t **answer,
                const json_t **data, struct outcome *out)
{
    if (!tracker_send(s, c, answer, out))
        return false;
    *data = json_object_get(*answer, "data");
    if (json_integer_value(json_object_get(*answer, "status")) == 1)
        return true;
    outcome_say(s, &(struct http_answer){.status = out->status}, tracker_text(s, *answer, "info"),
                out);
    out->result = SEND_REFUSED;
    json_decref(*answer);
    return false;
}

static bool probe(struct sending *s, struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET",
             send_printf(s, "bugs/count?workspace_id=%s", tracker_escape(s, workspace(s))), NULL);
    const json_t *data;
    json_t *answer;

    if (!ask(s, &c, &answer, &data, out))
        return false;
    json_decref(answer);
    return true;
}

static bool is_closed(struct sending *s, const char *status)
{
    static const char *const usual[] = {"closed", "resolved", "rejected", "verified"};
    const json_t *list = channel_tree(s->channel, "closed_statuses");
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        if (strcmp(json_string_value(item), status) == 0)
            return true;
    }
    for (i = 0; !list && i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i], status) == 0)
            return true;
    return false;
}

static bool read_bug(struct sending *s, const json_t *data, struct ticket_seen *seen,
                     struct outcome *out)
{
    const json_t *bug = json_object_get(data, "Bug");
    const char *id = tracker_text(s, bug, "id");

    *seen = (struct ticket_seen){
        .id = id,
        .url = send_printf(s, "%s/%s/bugtrace/bugs/view/%s",
                           channel_setting(s->channel, "page_url", "https://www.tapd.cn"),
                           workspace(s), id),
        .word = tracker_text(s, bug, "status")};
    seen->closed = is_closed(s, seen->word);
    return *id ? true : tracker_odd(out, "the bug's id");
}

/* Titles can be searched, texts cannot: the title ends with the marker. */
static const char *title_of(struct sending *s, const struct ticket_text *t)
{
    return send_printf(s, "%s [%s]", t->title, t->marker);
}

static bool list(struct sending *s, const char *query, const char *marker, struct ticket_seen *seen,
                 bool *found, size_t *n, struct outcome *out)
{
    struct tracker_call c = call(s, "GET",
                                 send_printf(s, "bugs?workspace_id=%s&fields=id,title,status&%s",
                                             tracker_escape(s, workspace(s)), query),
                                 NULL);
    const json_t *data;
    json_t *answer, *item;
    bool ok = true;
    size_t i;

    *found = false;
    if (!ask(s, &c, &answer, &data, out))
        return false;
    *n = json_array_size(data);
    json_array_foreach((json_t *)(uintptr_t)data, i, item)
    {
        const char *title =
            json_string_value(json_object_get(json_object_get(item, "Bug"), "title"));

        if (ok && !*found && title && strstr(title, marker)) {
            ok = read_bug(s, item, seen, out);
            *found = ok;
        }
    }
    json_decref(answer);
    return ok;
}

static bool find_bug(struct sending *s, const char *marker, int64_t since_us,
                     struct ticket_seen *seen, bool *found, struct outcome *out)
{
    size_t n;

    if (!list(s, send_printf(s, "title=%s&limit=" PAGE, marker), marker, seen, found, &n, out))
        return false;
    n = since_us ? 200 : 0;
    for (int page = 1; page <= TRACKER_PAGES_MAX && !*found && n == 200; page++)
        if (!list(s, send_printf(s, "order=created%%20desc&limit=" PAGE "&page=%d", page), marker,
                  seen, found, &n, out))
            return false;
    return true;
}

static void put_field(struct buf *b, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(b, "%s%s=", b->len ? "&" : "", name);
    put_url(b, value);
}

static const char *form_of(struct sending *s, struct buf *b)
{
    const char *out = buf_keep(b, s->mem);

    buf_fini(b);
    return out ? out : "";
}

static struct buf form_begin(struct sending *s, const char *id)
{
    struct buf b;

    buf_init(&b, (size_t)4 << 20);
    put_field(&b, "workspace_id", workspace(s));
    put_field(&b, "id", id);
    return b;
}

static void put_texts(struct sending *s, struct buf *b, const struct ticket_text *t)
{
    put_field(b, "title", title_of(s, t));
    put_field(b, "description", tracker_body(s, t, FORM_HTML, BODY_MAX));
}

/* Creates (id NULL) and updates are one call. */
static bool post_bug(struct sending *s, const char *form, struct ticket_seen *seen,
                     struct outcome *out)
{
    struct tracker_call c = call(s, "POST", "bugs", form);
    const json_t *data;
    json_t *answer;
    bool ok;

    if (!ask(s, &c, &answer, &data, out))
        return false;
    ok = read_bug(s, data, seen, out);
    json_decref(answer);
    return ok;
}

static const char *labels_of(struct sending *s, const json_t *labels)
{
    const char *out = NULL;
    json_t *label;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)labels, i, label) out =
        out ? send_printf(s, "%s|%s", out, json_string_value(label)) : json_string_value(label);
    return out;
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    struct buf b = form_begin(s, NULL);

    put_texts(s, &b, t);
    put_field(&b, "reporter", channel_setting(s->channel, "reporter", NULL));
    put_field(&b, "current_owner", t->assignee);
    put_field(&b, "label", labels_of(s, t->labels));
    return post_bug(s, form_of(s, &b), seen, out);
}

static bool look(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                 struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET",
             send_printf(s, "bugs?workspace_id=%s&id=%s&fields=id,title,status",
                         tracker_escape(s, workspace(s)), tracker_escape(s, id)),
             NULL);
    const json_t *data;
    json_t *answer;
    bool ok;

    *gone = false;
    if (!ask(s, &c, &answer, &data, out))
        return false;
    *gone = json_array_size(data) == 0;
    ok = *gone || read_bug(s, json_array_get(data, 0), seen, out);
    json_decref(answer);
    return ok;
}

static bool update(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    struct buf b = form_begin(s, id);
    struct ticket_seen seen;

    put_texts(s, &b, t);
    return post_bug(s, form_of(s, &b), &seen, out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    struct buf b = form_begin(s, id);
    struct ticket_seen seen;

    put_field(&b, "status", channel_setting(s->channel, "reopen_status", "reopened"));
    put_field(&b, "current_owner", t->assignee);
    return post_bug(s, form_of(s, &b), &seen, out);
}

static bool comment(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out)
{
    struct buf b = form_begin(s, NULL);
    struct tracker_call c;
    const json_t *data;
    json_t *answer;

    (void)t;
    (void)comment_marker;
    put_field(&b, "entry_type", "bug");
    put_field(&b, "entry_id", id);
    put_field(&b, "author", channel_setting(s->channel, "reporter", "framewatch"));
    put_field(&b, "description", tracker_form(s, markdown, FORM_HTML, BODY_MAX));
    c = call(s, "POST", "comments", form_of(s, &b));
    if (!ask(s, &c, &answer, &data, out))
        return false;
    json_decref(answer);
    return true;
}

static bool has_comment(struct sending *s, const char *id, const char *comment_marker,
                        int64_t since_us, bool *has, struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET",
             send_printf(s,
                         "comments?workspace_id=%s&entry_type=bug&entry_id=%s&order=created%%20desc"
                         "&limit=" PAGE,
                         tracker_escape(s, workspace(s)), tracker_escape(s, id)),
             NULL);
    const json_t *data;
    json_t *answer, *item;
    size_t i;

    (void)since_us;
    *has = false;
    if (!ask(s, &c, &answer, &data, out))
        return false;
    json_array_foreach((json_t *)(uintptr_t)data, i, item)
    {
        const char *text =
            json_string_value(json_object_get(json_object_get(item, "Comment"), "description"));

        *has = *has || (text && strstr(text, comment_marker));
    }
    json_decref(answer);
    return true;
}

const struct tracker tapd_tracker = {.probe = probe,
                                     .find = find_bug,
                                     .create = create,
                                     .look = look,
                                     .update = update,
                                     .reopen = reopen,
                                     .comment = comment,
                                     .has_comment = has_comment};
