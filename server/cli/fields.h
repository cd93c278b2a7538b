/*
 * fields: reads answers of the server leniently: what is missing or of another type reads as 0 or
 * "". For showing, not for deciding.
 */
#pragma once
#include <jansson.h>

static inline int64_t number(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

static inline const char *string(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text ? text : "";
}
