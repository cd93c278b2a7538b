#include "profile/hardware.h"

const struct hardware_info hardware_info[HW_COUNT] = {
#define X(name, unit, low, high, group, source) {#name, unit, group, source, low, high},
    HARDWARE_FIELDS(X)
#undef X
};
