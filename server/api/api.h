/*
 * api: the resources of the JSON API, one file each; server/main.c hands the table to the
 * dispatcher. server/api/openapi.json describes every route of it.
 */
#pragma once
#include "server/http/req.h"

extern const struct route api_routes[];
extern const size_t api_routes_n;
