/* GitLab, REST API v4. */
#include "server/notify/forge.h"

#include <stdlib.h>
#include <string.h>

#define BODY_MAX 200000 /* 1,048,576 characters there */

static struct tracker_call call(struct sending *s, const char *method, const char *url,
                                json_t *tree)
{
    return (struct tracker_call){
        .method = method,
        .url = url,
        .tree = tree,
        .headers = {send_printf(s, "PRIVATE-TOKEN: %s", channel_secret(s->channel, "token"))}};
}

/* ".../projects/GROUP%2FNAME" */
static const char *project(struct sending *s)
{
    return send_printf(s, "%s/api/v4/projects/%s", send_base(s),
                       tracker_escape(s, channel_setting(s->channel, "project", "")));
}

static const char *search_url(struct sending *s, const char *marker)
{
    return send_printf(s, "%s/issues?scope=all&state=all&search=%s&in=description&per_page=20",
                       project(s), marker);
}

static const char *recent_url(struct sending *s, const char *issues, const char *since, int page)
{
    return send_printf(s,
                       "%s?scope=all&state=all&created_after=%s&order_by=created_at&sort=desc"
                       "&per_page=100&page=%d",
                       issues, tracker_escape(s, since), page);
}

static const char *notes_url(struct sending *s, const char *issue, const char *since, int page)
{
    (void)since;
    return send_printf(s, "%s/notes?order_by=created_at&sort=desc&per_page=100&page=%d", issue,
                       page);
}

const struct forge gitlab_forge = {.call = call,
                                   .project = project,
                                   .id = "iid",
                                   .url = "web_url",
                                   .body = "description",
                                   .said = "the issue's iid and state",
                                   .change = "PUT",
                                   .comments = "/notes",
                                   .form = FORM_GITLAB,
                                   .body_max = BODY_MAX,
                                   .search = search_url,
                                   .recent = {recent_url, true},
                                   .notes = {notes_url, false}};

/* The number of a user; nobody by that name leaves the issue to nobody. */
static bool find_user(struct sending *s, const char *name, json_int_t *id, struct outcome *out)
{
    struct tracker_call c = call(
        s, "GET",
        send_printf(s, "%s/api/v4/users?username=%s", send_base(s), tracker_escape(s, name)), NULL);
    json_t *list;

    if (!tracker_send(s, &c, &list, out))
        return false;
    *id = json_integer_value(json_object_get(json_array_get(list, 0), "id"));
    json_decref(list);
    return true;
}

static bool set_assignee(struct sending *s, const struct ticket_text *t, json_t *tree,
                         struct outcome *out)
{
    json_int_t id = 0;

    if (t->assignee && !find_user(s, t->assignee, &id, out))
        return false;
    if (id)
        json_object_set_new(tree, "assignee_ids", json_pack("[I]", id));
    return true;
}

static const char *joined(struct sending *s, const json_t *labels)
{
    const char *out = "";
    json_t *label;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)labels, i, label)
    {
        const char *more = send_printf(s, "%s%s%s", out, i ? "," : "", json_string_value(label));

        out = more ? more : out;
    }
    return out;
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    json_t *tree = json_pack("{s:s, s:b}", "labels", joined(s, t->labels), "confidential",
                             channel_flag(s->channel, "confidential"));

    if (!set_assignee(s, t, tree, out)) {
        json_decref(tree);
        return false;
    }
    return forge_create(s, t, tree, seen, out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    json_t *tree = json_pack("{s:s}", "state_event", "reopen");

    if (!set_assignee(s, t, tree, out)) {
        json_decref(tree);
        return false;
    }
    return forge_change(s, id, tree, out);
}

const struct tracker gitlab_tracker = {.probe = forge_probe,
                                       .find = forge_find,
                                       .create = create,
                                       .look = forge_look,
                                       .update = forge_update,
                                       .reopen = reopen,
                                       .comment = forge_comment,
                                       .has_comment = forge_has_comment};
