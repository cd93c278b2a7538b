/* Android's, in so far as the SDK uses it: glibc calls mallinfo outdated, and its counters are int.
 */
#pragma once
#include <stdlib.h>
struct mallinfo {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo mallinfo(void);
