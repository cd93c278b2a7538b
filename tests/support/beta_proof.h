/*
 * beta_proof: the whole analysis of a beta's janks, held against the causes that were planted.
 * Of all pairs of janks of the app: precision, how many of one family are of one cause; recall, how
 * many of one cause are of one family. What was met once is a cause of its own.
 */
#pragma once
#include "support/beta.h"

struct pair_score {
    double precision, recall;
    unsigned families;
};

struct beta_result {
    uint64_t janks, stacks;        /* different ones */
    struct pair_score plain;       /* first three lines that name the app, as they stand */
    struct pair_score fingerprint; /* families by fingerprint */
    struct pair_score kin;         /* and their kin joined: what the analysis finds */
    unsigned joins;
    unsigned causes, causes_found; /* above the report rate, by the truth and by the families */
    double class_right;            /* share of janks with their true class */
    uint64_t late;                 /* different stacks whose symbols came late */
    uint64_t late_in_app;          /* of these, in-app before: their managed frames have names */
    uint64_t late_moved;   /* of these, in another family after, and not called provisional */
    double distinct_error; /* worst of the families with over 0.5 % of janks */
    double family_s, kin_s, trie_s, paths_s; /* CPU seconds of the analysis, without the making */
    size_t trie_nodes, pruned_nodes, trie_bytes;
};

bool beta_prove(const struct beta *b, uint64_t janks, uint64_t installs, struct beta_result *out);
