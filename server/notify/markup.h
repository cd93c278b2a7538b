/*
 * markup: the markdown that tickets are written in, for trackers that have none: Jira's wiki text
 * and TAPD's HTML. Headings, lists, tables, fenced and inline code, bold and links; anything else
 * is text. Pure.
 */
#pragma once
#include "base/buf.h"

enum markup { MARKUP_WIKI, MARKUP_HTML };

void put_markup(struct buf *b, const char *markdown, enum markup to);

/* Markdown as it is, but lines that GitLab would take for a command ("/close") are none. */
void put_without_commands(struct buf *b, const char *markdown);
