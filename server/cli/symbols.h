/*
 * symbols: the verbs of `framewatch symbols`, one file each. Each is a subcommand in the sense of
 * cli.h.
 */
#pragma once

int symbols_delete(int argc, char **argv);
int symbols_index(int argc, char **argv);
int symbols_info(int argc, char **argv);
int symbols_list(int argc, char **argv);
int symbols_lookup(int argc, char **argv);
int symbols_upload(int argc, char **argv);
