/*
 * stack_symbols: how stacks read with symbols, as answers show it: [{"hash", "state", "frames"}],
 * one of each of the app's stacks that is known.
 */
#pragma once
#include "server/http/req.h"

/* hash: n of 16 bytes; appended to `out` as a JSON array. */
bool stack_symbols_write(struct req *r, const struct bytes *hash, size_t n, struct buf *out,
                         struct err *err) MUST_CHECK;

/* Gives a list of janks (its "stacks" name the hashes) the member "symbols". */
bool stack_symbols_add(struct req *r, json_t *janks, struct err *err) MUST_CHECK;
