/*
 * forge: what GitHub and GitLab have in common: issues of a repository that carry a marker in their
 * text, comments below them, lists by pages. A driver says in a table how its service calls things;
 * the functions of struct tracker that are the same for both stand here, and take the table of the
 * channel's kind.
 */
#pragma once
#include "server/notify/tracker.h"

#define FORGE_PAGE 100 /* items; the most of either */

/* A list of the service that holds what was made since a time, newest first. */
struct forge_list {
    /* Its page, counted from 1, of FORGE_PAGE items; below the URL `of` the issues or the issue. */
    const char *(*url)(struct sending *s, const char *of, const char *since, int page);
    bool bounded; /* the service leaves out what is older; if not, the first one older ends it */
};

struct forge {
    struct tracker_call (*call)(struct sending *s, const char *method, const char *url,
                                json_t *tree);
    const char *(*project)(struct sending *s); /* its URL; issues are below it at /issues/ID */
    const char *id, *url, *body;               /* members of an issue */
    const char *said;                          /* what an issue must say, for people */
    const char *change;                        /* method that changes an issue */
    const char *comments;                      /* path of an issue's comments, below it */
    enum tracker_form form;
    size_t body_max;
    bool tells_deleted; /* a deleted issue answers 410, and 404 too */
    /* Search by text, the issues in member `found` of the answer, or all of it if that is NULL. */
    const char *(*search)(struct sending *s, const char *marker);
    const char *found;
    struct forge_list recent, notes; /* issues; comments of one */
};

extern const struct forge github_forge, gitlab_forge;

bool forge_probe(struct sending *s, struct outcome *out);
bool forge_find(struct sending *s, const char *marker, int64_t since_us, struct ticket_seen *seen,
                bool *found, struct outcome *out);
bool forge_look(struct sending *s, const char *id, struct ticket_seen *seen, bool *gone,
                struct outcome *out);
bool forge_update(struct sending *s, const char *id, const struct ticket_text *t,
                  struct outcome *out);
bool forge_comment(struct sending *s, const char *id, const struct ticket_text *t,
                   const char *markdown, const char *comment_marker, struct outcome *out);
bool forge_has_comment(struct sending *s, const char *id, const char *comment_marker,
                       int64_t since_us, bool *has, struct outcome *out);

/* A new issue with the title and text, and what else `tree` says; takes the tree, as the next one
 * does. */
bool forge_create(struct sending *s, const struct ticket_text *t, json_t *tree,
                  struct ticket_seen *seen, struct outcome *out);
bool forge_change(struct sending *s, const char *id, json_t *tree, struct outcome *out);
