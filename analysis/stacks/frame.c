#include "stacks/frame.h"

#include <string.h>

const char *const stack_status_name[STACK_STATUS_COUNT] = {
#define X(name, text) text,
    STACK_STATUSES
#undef X
};

enum stack_status stack_status_of(const char *text)
{
    for (int i = 0; i < STACK_STATUS_COUNT; i++)
        if (strcmp(text, stack_status_name[i]) == 0)
            return (enum stack_status)i;
    return STACK_STATUS_UNKNOWN;
}
