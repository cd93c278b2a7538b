/*
 * The insides of kin, shared by kin.c (families and which joins which), kin_views.c (what families
 * have in common) and kin_sources.c (images and builds they come from).
 */
#pragma once
#include "base/buf.h"
#include "stacks/kin.h"

#include <string.h>

#define KEY_BYTES 16
#define NAMED_MAX 12 /* alternatives of one member that are looked at */
/* of one member: 1 whole, 3 and 6 without; beginnings; as a mapping has them */
#define VIEWS_MAX (10 + RULES_DEPTH_MAX + 1 + NAMED_MAX)

struct kin_family {
    uint8_t fingerprint[FINGERPRINT_BYTES];
    int64_t count;
    size_t joins; /* itself: none */
    const struct kin_match *by;
    bool stays;
};

/* All members of one family that read the same and come from the same place. */
struct kin_group {
    const struct kin_member *member; /* one of them */
    uint32_t family;
    int64_t count;
};

/* What others may have in common with a group: its first names without some. */
struct kin_view {
    uint8_t key[KEY_BYTES];
    uint32_t family, group;
    int64_t count;   /* of the family */
    uint8_t without; /* one bit a name left out */
    uint8_t n_out;   /* of them */
    uint8_t last;    /* place of the outermost name compared */
    enum kin_view_kind { VIEW_LOST, VIEW_BEGINNING, VIEW_CUT, VIEW_NAMED } kind;
    const char *named; /* VIEW_NAMED: the one of several names that was taken; NULL: as it is */
    uint8_t place;     /* of it */
};

struct kin_view_list {
    struct kin_view *at;
    size_t n;
};

/* How much of a family comes from an image that a name of its is in, or from a build. */
struct kin_share {
    uint32_t family;
    unsigned place; /* of the name; builds: 0 */
    int64_t build;
    const char *image;
    int64_t count;
};

struct kin_share_list {
    struct kin_share *at;
    size_t n;
};

/* Weight of `from` that has kin in `into`. */
struct kin_match {
    uint32_t from, into, group;
    enum kin_reason reason;
    uint8_t n_out; /* frames lost on both sides */
    const struct kin_view *mine, *theirs;
    int64_t count;
};

struct kin_image_total {
    const char *image;
    int64_t count;
};

struct kin_work {
    const struct kin_member *members;
    size_t n;
    const struct kin_apart *apart;
    size_t n_apart;
    struct arena *mem;
    struct buf text; /* of a key */
    unsigned depth;
    struct kin_family *families;
    size_t n_families;
    struct kin_group *groups;
    size_t n_groups;
    struct kin_view_list views, heaviest; /* heaviest: families of each key */
    struct kin_match *matches;
    size_t n_matches;
    struct kin_share_list images, builds; /* by family first */
    struct kin_image_total *totals;       /* of each image, over all families */
    size_t n_totals;
};

static inline int kin_by_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* All of groups; false: out of memory. */
bool kin_make_views(struct kin_work *w);
/* Of views: pairs of families, the lighter to join the heavier. */
bool kin_make_matches(struct kin_work *w);
/* Of groups: images and builds. */
bool kin_make_shares(struct kin_work *w);

/* Of what is to be lost: whether the two families' images and builds speak for it. */
bool kin_could_be_lost(const struct kin_work *w, const struct kin_match *m);
