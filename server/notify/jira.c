/* Jira, REST API v2: Cloud (token of an e-mail address) and Server or Data Center (personal token).
 */
#include "server/notify/tracker.h"

#include <string.h>

#define INDEX_LAG_MS                                                                               \
    (10 * INT64_C(60000)) /* Jira's search: seconds as a rule, minutes under load */
#define BODY_MAX 30000    /* 32,767 characters there, and wiki text is longer */

static bool is_cloud(const struct sending *s)
{
    return strcmp(channel_setting(s->channel, "flavour", "cloud"), "cloud") == 0;
}

static struct tracker_call call(struct sending *s, const char *method, const char *path,
                                json_t *tree)
{
    const char *token = channel_secret(s->channel, "token");
    struct tracker_call c = {.method = method,
                             .url = send_printf(s, "%s/rest/api/2/%s", send_base(s), path),
                             .tree = tree,
                             .headers = {"Accept: application/json"}};

    if (is_cloud(s)) {
        c.user = channel_setting(s->channel, "username", "");
        c.password = token;
    } else {
        c.headers[1] = send_printf(s, "Authorization: Bearer %s", token);
    }
    return c;
}

static const char *project(struct sending *s)
{
    return channel_setting(s->channel, "project", "");
}

static bool probe(struct sending *s, struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET", send_printf(s, "project/%s", tracker_escape(s, project(s))), NULL);

    return tracker_send(s, &c, NULL, out);
}

static bool read_issue(struct sending *s, const json_t *issue, struct ticket_seen *seen,
                       struct outcome *out)
{
    const json_t *fields = json_object_get(issue, "fields"),
                 *status = json_object_get(fields, "status"),
                 *category = json_object_get(status, "statusCategory");
    const char *id = tracker_text(s, issue, "key");

    *seen = (struct ticket_seen){.id = id,
                                 .url = send_printf(s, "%s/browse/%s", send_base(s), id),
                                 .word = tracker_text(s, status, "name"),
                                 .body = tracker_text(s, fields, "description")};
    seen->closed = strcmp(tracker_text(s, category, "key"), "done") == 0;
    return *id ? true : tracker_odd(out, "the issue's key");
}

/* Sends and reads the issue that comes back. */
static bool ask_issue(struct sending *s, const struct tracker_call *c, struct ticket_seen *seen,
                      struct outcome *out)
{
    json_t *issue;
    bool ok;

    if (!tracker_send(s, c, &issue, out))
        return false;
    ok = read_issue(s, issue, seen, out);
    json_decref(issue);
    return ok;
}

/* The marker is a label: exact, and people's edits of the text do not lose it. */
static bool find_issue(struct sending *s, const char *marker, int64_t since_us,
                       struct ticket_seen *seen, bool *found, struct outcome *out)
{
    const char *jql = send_printf(s, "project = \"%s\" AND labels = \"%s\"", project(s), marker);
    struct tracker_call c =
        call(s, "GET",
             send_printf(s, "%s?jql=%s&fields=status,description&maxResults=10",
                         is_cloud(s) ? "search/jql" : "search", tracker_escape(s, jql ? jql : "")),
             NULL);
    const json_t *issue;
    json_t *answer;
    bool ok;

    (void)since_us; /* there is nothing to ask but the index: hence index_lag_ms */
    *found = false;
    if (!tracker_send(s, &c, &answer, out))
        return false;
    issue = json_array_get(json_object_get(answer, "issues"), 0);
    ok = !issue || read_issue(s, issue, seen, out);
    *found = ok && issue;
    json_decref(answer);
    return ok;
}

static json_t *assignee(const struct sending *s, const char *name)
{
    return json_pack("{s:s}", is_cloud(s) ? "accountId" : "name", name);
}

/* Jira's labels have no blanks. */
static json_t *labels_of(struct sending *s, const struct ticket_text *t)
{
    json_t *out = json_array(), *label;
    size_t i;

    json_array_foreach(t->labels, i, label)
    {
        const char *text = json_string_value(label);
        char *word = arena_dup(s->mem, text, strlen(text));

        for (char *c = word; c && *c; c++)
            if (*c == ' ')
                *c = '-';
        json_array_append_new(out, json_string(word));
    }
    json_array_append_new(out, json_string(t->marker));
    return out;
}

static json_t *text_fields(struct sending *s, const struct ticket_text *t)
{
    return json_pack("{s:s, s:s}", "summary", t->title, "description",
                     tracker_body(s, t, FORM_WIKI, BODY_MAX));
}

static bool create(struct sending *s, const struct ticket_text *t, struct ticket_seen *seen,
                   struct outcome *out)
{
    json_t *fields = text_fields(s, t);
    struct tracker_call c;

    json_object_set_new(fields, "project", json_pack("{s:s}", "key", project(s)));
    json_object_set_new(
        fields, "issuetype",
        json_pack("{s:s}", "name", channel_setting(s->channel, "issue_type", "Bug")));
    json_object_set_new(fields, "labels", labels_of(s, t));
    if (t->assignee)
        json_object_set_new(fields, "assignee", assignee(s, t->assignee));
    c = call(s, "POST", "issue", json_pack("{s:o}", "fields", fields));
    return ask_issue(s, &c, seen, out);
}

static const char *issue_path(struct sending *s, const char *id, const char *more)
{
    return send_printf(s, "issue/%s%s", tracker_escape(s, id), more);
}

static bool look(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                 struct outcome *out)
{
    struct tracker_call c = call(s, "GET", issue_path(s, id, "?fields=status,description"), NULL);

    *gone = false;
    if (ask_issue(s, &c, seen, out))
        return true;
    *gone = out->status == 404 && probe(s, out);
    return *gone;
}

static bool put(struct sending *s, const char *id, json_t *fields, struct outcome *out)
{
    struct tracker_call c =
        call(s, "PUT", issue_path(s, id, ""), json_pack("{s:o}", "fields", fields));

    return tracker_send(s, &c, NULL, out);
}

static bool update(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    return put(s, id, text_fields(s, t), out);
}

/* The transition to take: the one configured, else one to a status that is not done, rather a new
 * one than one in progress. */
static const char *pick_transition(struct sending *s, const json_t *list)
{
    const char *wanted = channel_setting(s->channel, "reopen_transition", NULL), *best = NULL;
    json_t *item;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        const json_t *to = json_object_get(item, "to");
        const char *category = tracker_text(s, json_object_get(to, "statusCategory"), "key");

        if (wanted && strcmp(tracker_text(s, item, "name"), wanted) == 0)
            return tracker_text(s, item, "id");
        if (!wanted && strcmp(category, "new") == 0)
            return tracker_text(s, item, "id");
        if (!wanted && !best && strcmp(category, "indeterminate") == 0)
            best = tracker_text(s, item, "id");
    }
    return best;
}

static bool reopen(struct sending *s, const char *id, const struct ticket_text *t,
                   struct outcome *out)
{
    struct tracker_call ask = call(s, "GET", issue_path(s, id, "/transitions"), NULL), go;
    const char *transition;
    json_t *answer;

    if (!tracker_send(s, &ask, &answer, out))
        return false;
    transition = pick_transition(s, json_object_get(answer, "transitions"));
    json_decref(answer);
    if (!transition)
        return outcome_refused(out, "no transition leads back from the issue's status");
    go = call(s, "POST", issue_path(s, id, "/transitions"),
              json_pack("{s:{s:s}}", "transition", "id", transition));
    if (!tracker_send(s, &go, NULL, out))
        return false;
    return !t->assignee ||
           put(s, id, json_pack("{s:o}", "assignee", assignee(s, t->assignee)), out);
}

static bool comment(struct sending *s, const char *id, const struct ticket_text *t,
                    const char *markdown, const char *comment_marker, struct outcome *out)
{
    struct tracker_call c =
        call(s, "POST", issue_path(s, id, "/comment"),
             json_pack("{s:s}", "body", tracker_form(s, markdown, FORM_WIKI, BODY_MAX)));

    (void)t;
    (void)comment_marker;
    return tracker_send(s, &c, NULL, out);
}

static bool has_comment(struct sending *s, const char *id, const char *comment_marker,
                        int64_t since_us, bool *has, struct outcome *out)
{
    struct tracker_call c =
        call(s, "GET", issue_path(s, id, "/comment?orderBy=-created&maxResults=100"), NULL);
    json_t *answer, *item;
    size_t i;

    (void)since_us;
    *has = false;
    if (!tracker_send(s, &c, &answer, out))
        return false;
    json_array_foreach(json_object_get(answer, "comments"), i, item)
    {
        const char *body = json_string_value(json_object_get(item, "body"));

        *has = *has || (body && strstr(body, comment_marker));
    }
    json_decref(answer);
    return true;
}

const struct tracker jira_tracker = {.index_lag_ms = INDEX_LAG_MS,
                                     .probe = probe,
                                     .find = find_issue,
                                     .create = create,
                                     .look = look,
                                     .update = update,
                                     .reopen = reopen,
                                     .comment = comment,
                                     .has_comment = has_comment};
