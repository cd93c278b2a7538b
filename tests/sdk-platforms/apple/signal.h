/* glibc's, without the signals that Apple's systems lack. */
#pragma once
#include_next <signal.h>
#undef SIGPWR
#undef SIGRTMIN
#undef SIGRTMAX
