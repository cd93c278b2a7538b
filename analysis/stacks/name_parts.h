/*
 * name_parts: what name.c hands to the readers of each language. A reader is one pass over `text`
 * that writes its result in place, within NAME_TEXT_MAX; name.c repeats it until nothing changes.
 */
#pragma once
#include "stacks/name.h"

struct name_pass {
    char *text; /* in and out, with final NUL, NAME_TEXT_MAX + 1 bytes of room */
    size_t len;
    bool closure, glue; /* set when seen; not cleared */
};

void name_native(struct name_pass *p);
void name_objc(struct name_pass *p);
bool name_is_objc(const char *text);
void name_managed(struct name_pass *p);
void name_lua(struct name_pass *p);
bool name_is_lua(const char *text);
void name_il2cpp(struct name_pass *p);
bool name_is_il2cpp(const char *text);

/* Role of a finished name, from the built-in lists. */
enum name_role name_role_of(const char *text, bool managed);

/* Helpers of the readers. */
bool name_starts(const char *text, const char *prefix);
bool name_ends(const char *text, size_t len, const char *suffix);
bool name_ident_byte(char c); /* letters, digits, '_', '$', bytes beyond ASCII */
void name_cut(struct name_pass *p, size_t at, size_t n); /* takes n bytes out */
void name_end_at(struct name_pass *p, size_t len);
/* Past the group opened at text[at]; len if it is never closed. Angle brackets open only where
 * asked for, never by "->" or an operator. */
size_t name_group_end(const char *text, size_t at, size_t len);
