/* GitHub, REST API version 2022-11-28; also GitHub Enterprise Server (url: https://HOST/api/v3). */
#include "server/notify/forge.h"

#include <string.h>

#define BODY_MAX 60000 /* 65,536 characters there */

static struct tracker_call call(struct sending *s, const char *method, const char *url,
                                json_t *tree)
{
    return (struct tracker_call){
        .method = method,
        .url = url,
        .tree = tree,
        .headers = {send_printf(s, "Authorization: Bearer %s", channel_secret(s->channel, "token")),
                    "Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28"}};
}

/* ".../repos/OWNER/NAME" */
static const char *repository(struct sending *s)
{
    const char *name = channel_setting(s->channel, "repository", ""), *slash = strchr(name, '/');

    return send_printf(s, "%s/repos/%s/%s", send_base(s),
                       tracker_escape(s, arena_dup(s->mem, name, (size_t)(slash - name))),
                       tracker_escape(s, slash + 1));
}

static const char *search_url(struct sending *s, const char *marker)
{
    const char *q = send_printf(s, "%s repo:%s is:issue in:body", marker,
                                channel_setting(s->channel, "repository", ""));

    return send_printf(s, "%s/search/issues?q=%s&per_page=20", send_base(s), tracker_escape(s, q));
}

static const char *recent_url(struct sending *s, const char *issues, const char *since, int page)
{
    (void)since;
    return send_printf(s, "%s?state=all&sort=created&direction=desc&per_page=100&page=%d", issues,
                       page);
}

static const char *notes_url(struct sending *s, const char *issue, const char *since, int page)
{
    return send_printf(s, "%s/comments?since=%s&per_page=100&page=%d", issue,
                       tracker_escape(s, since), page);
}

const struct forge github_forge = {.call = call,
                                   .project = repository,
                                   .id = "number",
                                   .url = "html_url",
                                   .body = "body",
                                   .said = "the issue's number and state",
                                   .change = "PATCH",
                                   .comments = "/comments",
                                   .form = FORM_MARKDOWN,
                                   .body_max = BODY_MAX,
                                   .tells_deleted = true,
                                   .search = search_url,
                                   .found = "items",
                                   .recent = {recent_url, false},
                                   .notes = {notes_url, true}};

static json_t *assignees(const struct ticket_text *t)
{
    return t->assignee ? json_pack("[s]", t->assignee) : json_array();
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    return forge_create(
        s, t, json_pack("{s:O, s:o}", "labels", t->labels, "assignees", assignees(t)), seen, out);
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    json_t *tree = json_pack("{s:s, s:s}", "state", "open", "state_reason", "reopened");

    if (t->assignee)
        json_object_set_new(tree, "assignees", assignees(t));
    return forge_change(s, id, tree, out);
}

const struct tracker github_tracker = {.probe = forge_probe,
                                       .find = forge_find,
                                       .create = create,
                                       .look = forge_look,
                                       .update = forge_update,
                                       .reopen = reopen,
                                       .comment = forge_comment,
                                       .has_comment = forge_has_comment};
