/*
 * url_hide: texts for people and logs do not tell who may go where. Pure.
 */
#pragma once

/* Where a URL of the text names a user, with or without a password, three asterisks before its '@'
 * stand for both. What looks like the beginning of them is hidden too: a text may have been
 * cut, and a password with a '/' in it ends a URL's host before its time. In place, never longer;
 * gives `text`. */
char *url_hide(char *text);
