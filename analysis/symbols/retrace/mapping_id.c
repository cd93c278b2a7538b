#include "symbols/retrace/mapping_id.h"

#include <string.h>

static bool usable(const char *id)
{
    size_t n = strlen(id);

    if (n == 0 || n >= MAPPING_ID_TEXT)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)id[i] <= ' ' || (unsigned char)id[i] >= 0x7f)
            return false;
    return true;
}

void mapping_id(const struct retrace *r, const unsigned char file_sha256[SHA256_BYTES],
                char out[MAPPING_ID_TEXT])
{
    const char *id = NULL;

    if (usable(r->map_hash) && (r->hash_matches || !r->hash_known))
        id = r->map_hash;
    else if (usable(r->map_id))
        id = r->map_id;
    if (id)
        memcpy(out, id, strlen(id) + 1);
    else
        to_hex(file_sha256, SHA256_BYTES, out);
}
