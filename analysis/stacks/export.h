/*
 * export: stacks for other people's tools. Writers append to `out`; failure is the buffer's.
 *
 * Folded (Brendan Gregg's stackcollapse): "root;child;leaf N", a line a stack that ends somewhere.
 * The form has no escapes of its own, so ours are read back by fold_read(): '\' before ';', '\' and
 * 'n' for a newline, 'r' for a carriage return. Other control characters (C0, DEL, C1) become '?',
 * one a byte, and so does an empty name; a frame that is empty is left out.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "stacks/trie.h"

void fold_name(const char *name, struct buf *out); /* escaped */
/* Lines in the trie's order; those with a value of 0 left out. */
void export_folded(const struct trie *t, enum trie_value by, struct buf *out);
/* Adds folded lines as counts; weights stay 0. ERR_INVALID names the first line at fault, those
 * before it are in. */
bool fold_read(const char *text, size_t n, struct trie *into, struct err *err) MUST_CHECK;

struct export_about {
    const char *title;       /* "build 1.4.0 (1400), jank stacks" */
    const char *count_name;  /* "janks" */
    const char *weight_name; /* "jank time", in milliseconds */
    int64_t time_us;         /* of the profile, Unix; 0: none */
};
/* https://www.speedscope.app/file-format-schema.json: one sampled profile, of counts or of
 * milliseconds; what is not above 0 is left out. */
void export_speedscope(const struct trie *t, enum trie_value by, const struct export_about *about,
                       struct buf *out);
/* pprof's profile.proto, gzip: two sample types, a count and milliseconds. */
bool export_pprof(const struct trie *t, const struct export_about *about, struct buf *out,
                  struct err *err) MUST_CHECK;
/* {"nodes":N,"shown":M,"root":{"name","count","weight","self_count","self_weight","children":[…]}}:
 * the max_nodes heaviest of N nodes, in the trie's order. The root's name is "". trie_sort() first.
 */
bool export_trie_json(const struct trie *t, enum trie_value by, size_t max_nodes, struct buf *out,
                      struct err *err) MUST_CHECK;
/* The same with shares: {"name","a","b","self_a","self_b","children"}. */
bool export_diff_json(const struct trie_diff *d, size_t max_nodes, struct buf *out,
                      struct err *err) MUST_CHECK;
