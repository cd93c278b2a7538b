/* deliveries: one delivery as an answer, for those who queue one. */
#pragma once
#include "server/http/req.h"

bool reply_delivery(struct req *r, int status, int64_t id, struct err *err) MUST_CHECK;
