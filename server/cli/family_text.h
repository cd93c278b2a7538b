/*
 * family_text: families, their reasons and what rules would do, for a person at a terminal. Names
 * come from phones: they are made harmless.
 */
#pragma once
#include <jansson.h>

void families_print(const json_t *list);
void family_print(const json_t *family);
void family_sessions_print(const json_t *list);
void family_paths_print(const json_t *paths);
void family_verdicts_print(const json_t *list);
void family_preview_print(const json_t *preview);
