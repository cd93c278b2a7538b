#include "server/jobs/symbols/index_hidden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PLIST_BYTES ((size_t)64 << 10)
#define UUID_TEXT 36

/* The id in "some/path/UUID.ending". */
static bool id_in_name(const char *name, const char *ending, struct debug_id *out)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    char uuid[UUID_TEXT + 1];

    if (strlen(base) != UUID_TEXT + strlen(ending) || strcasecmp(base + UUID_TEXT, ending) != 0)
        return false;
    memcpy(uuid, base, UUID_TEXT);
    uuid[UUID_TEXT] = '\0';
    return debug_id_parse(uuid, out) && out->size == 16;
}

/* All of an entry, ended by a NUL; NULL if it is longer than `most` or does not unpack. Its
 * checksum is looked at by the read that finds its end. */
static char *read_entry(zip_t *zip, zip_uint64_t entry, uint64_t most, size_t *size)
{
    zip_stat_t st;
    zip_file_t *f;
    char *text = NULL, more;
    zip_int64_t n = -1;
    bool whole;

    if (zip_stat_index(zip, entry, 0, &st) != 0 || !(st.valid & ZIP_STAT_SIZE) || st.size > most)
        return NULL;
    f = zip_fopen_index(zip, entry, 0);
    if (f)
        text = malloc(st.size + 1);
    if (text)
        n = zip_fread(f, text, st.size);
    whole = n >= 0 && (zip_uint64_t)n == st.size && zip_fread(f, &more, 1) == 0;
    if (f)
        zip_fclose(f);
    if (!whole) {
        free(text);
        return NULL;
    }
    text[st.size] = '\0';
    *size = (size_t)st.size;
    return text;
}

/* <key>DBGOriginalUUID</key><string>UUID</string>, in whatever white space. */
static bool original_in(const char *plist, struct debug_id *out)
{
    static const char key[] = "<key>DBGOriginalUUID</key>", opened[] = "<string>";
    const char *at = strstr(plist, key);
    char uuid[UUID_TEXT + 1];

    if (!at)
        return false;
    at += sizeof key - 1;
    at += strspn(at, " \t\r\n");
    if (strncmp(at, opened, sizeof opened - 1) != 0)
        return false;
    at += sizeof opened - 1;
    snprintf(uuid, sizeof uuid, "%s", at);
    return debug_id_parse(uuid, out) && out->size == 16;
}

static void note_alias(struct hidden_maps *h, zip_uint64_t entry, const struct debug_id *id)
{
    size_t size;
    char *plist = read_entry(h->zip, entry, PLIST_BYTES, &size);
    struct hidden_alias alias = {.id = *id};

    if (plist && original_in(plist, &alias.original))
        h->aliases[h->n_aliases++] = alias;
    free(plist);
}

void hidden_maps_find(struct hidden_maps *h, zip_t *zip)
{
    zip_int64_t n = zip_get_num_entries(zip, 0);

    h->zip = zip;
    h->n_maps = h->n_aliases = 0;
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(zip, (zip_uint64_t)i, 0);
        struct debug_id id;

        if (!name || strncmp(name, "__MACOSX/", 9) == 0)
            continue;
        if (h->n_maps < HIDDEN_MAPS && id_in_name(name, ".bcsymbolmap", &id))
            h->maps[h->n_maps++] = (struct hidden_map){id, (zip_uint64_t)i};
        else if (h->n_aliases < HIDDEN_MAPS && id_in_name(name, ".plist", &id))
            note_alias(h, (zip_uint64_t)i, &id);
    }
}

static const struct hidden_map *map_of(const struct hidden_maps *h, const struct debug_id *id)
{
    const struct debug_id *wanted = id;

    for (size_t i = 0; i < h->n_aliases; i++)
        if (debug_id_equal(&h->aliases[i].id, id))
            wanted = &h->aliases[i].original;
    for (size_t i = 0; i < h->n_maps; i++)
        if (debug_id_equal(&h->maps[i].id, wanted))
            return &h->maps[i];
    return NULL;
}

bool hidden_maps_read(const struct hidden_maps *h, const struct debug_id *id, uint64_t *left,
                      struct hidden_names *out)
{
    const struct hidden_map *map = map_of(h, id);
    uint64_t most = *left < HIDDEN_NAMES_BYTES ? *left : HIDDEN_NAMES_BYTES;
    struct err err;
    size_t size = 0;
    char *text = map ? read_entry(h->zip, map->entry, most, &size) : NULL;
    bool ok = text && hidden_names_init(out, text, size, &err);

    if (text)
        *left -= size;
    free(text);
    return ok;
}
