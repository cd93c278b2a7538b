/*
 * family_slice: which slice of the counts of families a question is about: a build or all, and one
 * of tier, scene, tier and scene, device model, OS version or cause. What is kept of families is
 * kept by these; other combinations are refused. Single-threaded like its request; texts live in
 * r->mem.
 */
#pragma once
#include "server/http/req.h"
#include "server/jobs/families/family_group.h"

struct family_slice {
    int64_t build; /* 0: all */
    const char *dim, *value;
};

/* Reads `build`, `tier`, `scene`, `model`, `os`, `cause`, which the route's names hold. */
#define FAMILY_SLICE_ARGS "build", "tier", "scene", "model", "os", "cause"
bool slice_read(struct req *r, struct family_slice *out, struct err *err) MUST_CHECK;

struct family_base { /* what rates are of */
    int64_t sessions, installs, foreground_us;
    bool pending; /* counts or groups are behind what was uploaded or changed */
};
bool slice_base(struct req *r, const struct family_slice *s, const struct grouping *g,
                struct family_base *out, struct err *err) MUST_CHECK;

/* What the slice is, for answers: {"build", "tier", "scene", …}, null where it is not cut. */
json_t *slice_json(const struct family_slice *s);

/* a / b rounded to 1e-6; null if b is 0. */
json_t *share_json(int64_t a, int64_t b);

/* {…} of the path: a family's id. ERR_NOT_FOUND if the app has no such family. */
bool family_param(struct req *r, unsigned i, unsigned char id[FINGERPRINT_BYTES],
                  struct err *err) MUST_CHECK;
