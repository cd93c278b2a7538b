/* glibc's, with Apple's name for the time of change. */
#pragma once
#define st_mtim st_mtimespec
#include_next <sys/stat.h>
#undef st_mtim
#undef st_mtime
#define st_mtime st_mtimespec.tv_sec
