#include "server/jobs/families/stack_read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *frame, const char *name, struct arena *mem)
{
    const char *text = json_string_value(json_object_get(frame, name));

    return text ? arena_dup(mem, text, strlen(text)) : NULL;
}

static uint64_t offset_of(const json_t *frame)
{
    const json_t *offset = json_object_get(frame, "offset");
    const char *text = json_string_value(offset);

    return text ? strtoull(text, NULL, 0) : (uint64_t)json_integer_value(offset);
}

static void read_alternatives(const json_t *frame, struct arena *mem, struct stack_frame *out)
{
    const json_t *list = json_object_get(frame, "alternatives"), *one;
    const char **names = arena_array(mem, json_array_size(list), sizeof *names);
    size_t i;

    if (!json_array_size(list) || !names)
        return;
    json_array_foreach(list, i, one)
    {
        const char *text = json_is_string(one)
                               ? json_string_value(one)
                               : json_string_value(json_object_get(one, "function"));

        if (text)
            names[out->n_alternatives++] = arena_dup(mem, text, strlen(text));
    }
    out->alternatives = names;
}

static void read_symbolicated(const json_t *frame, struct arena *mem, struct stack_frame *out)
{
    const char *status = json_string_value(json_object_get(frame, "status"));

    *out = (struct stack_frame){
        .status = stack_status_of(status ? status : ""),
        .inlined = json_is_true(json_object_get(frame, "inlined")),
        .raw = (uint32_t)json_integer_value(json_object_get(frame, "frame")),
        .line = (uint32_t)json_integer_value(json_object_get(frame, "line")),
        .function = text_of(frame, "function", mem),
        .file = text_of(frame, "file", mem),
        .module = text_of(frame, "module", mem),
        .debug_id = text_of(frame, "debug_id", mem),
        .offset = offset_of(frame),
    };
    read_alternatives(frame, mem, out);
}

/* Before anybody looked for symbols: native frames wait for theirs, managed ones have names. */
static void read_raw(const json_t *frame, size_t i, struct arena *mem, struct stack_frame *out)
{
    const char *text = text_of(frame, "text", mem);

    *out = (struct stack_frame){
        .status = text ? STACK_STATUS_MANAGED : STACK_STATUS_MISSING,
        .raw = (uint32_t)i,
        .function = text,
        .module = text ? NULL : text_of(frame, "module", mem),
        .debug_id = text ? NULL : text_of(frame, "debug_id", mem),
        .offset = text ? 0 : offset_of(frame),
    };
    if (!text && (!out->module || !*out->module))
        out->status = STACK_STATUS_UNKNOWN;
}

bool stack_read(const char *symbols, const char *frames, struct arena *mem,
                struct stack_frame **out, size_t *n, struct err *err)
{
    json_t *list = json_loads(symbols ? symbols : frames, 0, NULL), *frame;
    struct stack_frame *at = arena_array(mem, json_array_size(list), sizeof *at);
    size_t i;

    if (!json_is_array(list)) {
        json_decref(list);
        return err_set(err, ERR_INTERNAL, "a stored stack is no list of frames");
    }
    json_array_foreach(list, i, frame)
    {
        if (!at)
            break;
        if (symbols)
            read_symbolicated(frame, mem, &at[i]);
        else
            read_raw(frame, i, mem, &at[i]);
    }
    *n = json_array_size(list);
    *out = at;
    json_decref(list);
    return !arena_full(mem) || err_full(err, "stacks");
}
