/*
 * stored_janks: the list of janks from the rows that are kept of them, for a session whose raw
 * files are past their retention. The same form as from the files, but for what the rows do not
 * hold: the time of a sample is null, and a stack's thread is "".
 */
#pragma once
#include "server/http/req.h"

bool stored_janks(struct req *r, const unsigned char id[16], json_t **out,
                  struct err *err) MUST_CHECK;
