#include "support/beta_symbols.h"

#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY ((size_t)1 << 30)
#define IMAGES_MAX 64
#define PLACES_MAX ((size_t)1 << 20)
#define SLOTS (2 * PLACES_MAX)
#define CODE_AT 0x100000
#define CALLS_MAX 8 /* of a place: a function and what is inlined into it */
#define BUILDS 2

enum kind { LIBRARY, CLASS, METHOD };

struct place {
    uint64_t key;
    enum kind kind;
    unsigned image;              /* of a library; the build of a class or method */
    unsigned number;             /* in its image; of a class or method, in all */
    unsigned n;                  /* of call; of a method: the functions it may be */
    const char *call[CALLS_MAX]; /* innermost first */
    const struct place *class;   /* of a method */
};

struct image {
    struct beta_image is;
    const char *folder; /* NULL: nobody has its symbols */
    unsigned places;
};

struct beta_symbols {
    struct arena *mem;
    struct image images[IMAGES_MAX];
    unsigned n_images;
    struct place *places;
    size_t n_places;
    uint32_t *slots; /* place + 1, by key */
};

struct beta_symbols *beta_symbols_new(void)
{
    struct beta_symbols *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->mem = arena_new(MEMORY);
    s->places = calloc(PLACES_MAX, sizeof *s->places);
    s->slots = calloc(SLOTS, sizeof *s->slots);
    if (s->mem && s->places && s->slots)
        return s;
    beta_symbols_free(s);
    return NULL;
}

void beta_symbols_free(struct beta_symbols *s)
{
    if (!s)
        return;
    arena_free(s->mem);
    free(s->places);
    free(s->slots);
    free(s);
}

size_t beta_images(const struct beta_symbols *s)
{
    return s->n_images;
}

/* Images ------------------------------------------------------------------------------------------
 */

static void id_of(const char *name, const char *which, char out[41])
{
    struct digest *d = digest_new(DIGEST_SHA1);
    unsigned char sum[SHA256_BYTES];

    digest_add(d, name, strlen(name) + 1);
    digest_add(d, which, strlen(which));
    digest_end(d, sum);
    digest_free(d);
    to_hex(sum, SHA1_BYTES, out);
}

/* Whose library it is: the beta names its own images' build and architecture, but for calls of
 * things like Lua's, which are in the same library; a system library with names is another version
 * than one without. */
static const char *which_of(const struct stack_frame *f, const char *own)
{
    if (f->debug_id)
        return f->debug_id;
    if (strcmp(f->module, "libgame.so") == 0 || strcmp(f->module, "libengine.so") == 0)
        return own;
    return f->function ? "named" : "plain";
}

static const char *folder_of(const char *which)
{
    if (strcmp(which, "aa03") == 0 || strcmp(which, "aa04") == 0)
        return BETA_LATE_FOLDER;
    return strcmp(which, "plain") == 0 || strcmp(which, "bb") == 0 ? NULL : BETA_EARLY_FOLDER;
}

/* IMAGES_MAX: not known. */
static unsigned find_image(const struct beta_symbols *s, const char *name, const char *which)
{
    char id[41];

    id_of(name, which, id);
    for (unsigned i = 0; i < s->n_images; i++)
        if (strcmp(s->images[i].is.debug_id, id) == 0)
            return i;
    return IMAGES_MAX;
}

static bool add_image(struct beta_symbols *s, const char *name, const char *which)
{
    struct image *image = &s->images[s->n_images];

    if (find_image(s, name, which) < IMAGES_MAX)
        return true;
    if (s->n_images == IMAGES_MAX)
        return false;
    image->is.name = arena_dup(s->mem, name, strlen(name));
    image->folder = folder_of(which);
    id_of(name, which, image->is.debug_id);
    s->n_images++;
    return image->is.name != NULL;
}

/* The game's own images name build and architecture; a stack without one is the first build's. */
static const char *own_id(const struct beta_jank *j)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->frames[i].debug_id && strncmp(j->frames[i].debug_id, "aa", 2) == 0)
            return j->frames[i].debug_id;
    return j->build ? "aa03" : "aa01";
}

/* Places ------------------------------------------------------------------------------------------
 */

static uint64_t key_of(const struct place *p)
{
    struct digest *d = digest_new(DIGEST_SHA256);
    unsigned char sum[SHA256_BYTES];
    uint64_t key;

    digest_add(d, &p->kind, sizeof p->kind);
    digest_add(d, &p->image, sizeof p->image);
    for (unsigned i = 0; i < p->n; i++)
        digest_add(d, p->call[i], strlen(p->call[i]) + 1);
    digest_end(d, sum);
    digest_free(d);
    memcpy(&key, sum, sizeof key);
    return key;
}

/* The place in the table that has the key or may take it. */
static size_t slot_of(const struct beta_symbols *s, uint64_t key)
{
    size_t at = key & (SLOTS - 1);

    while (s->slots[at] && s->places[s->slots[at] - 1].key != key)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

static const struct place *find_place(const struct beta_symbols *s, struct place *wanted)
{
    size_t at;

    wanted->key = key_of(wanted);
    at = slot_of(s, wanted->key);
    return s->slots[at] ? &s->places[s->slots[at] - 1] : NULL;
}

static const struct place *add_place(struct beta_symbols *s, struct place *wanted)
{
    const struct place *known = find_place(s, wanted);
    struct place *p = &s->places[s->n_places];

    if (known || s->n_places == PLACES_MAX)
        return known;
    *p = *wanted;
    p->number = p->kind == LIBRARY ? s->images[p->image].places++ : (unsigned)s->n_places;
    for (unsigned i = 0; i < p->n; i++)
        p->call[i] = arena_dup(s->mem, p->call[i], strlen(p->call[i]));
    s->slots[slot_of(s, p->key)] = (uint32_t)++s->n_places;
    return arena_full(s->mem) ? NULL : p;
}

/* A call that the list of frames holds from `i` on: inlined ones and the one they are inlined into,
 * as far as they are of one library; the rest are calls of their own. */
static size_t native_call(const struct beta_symbols *s, const struct beta_jank *j, size_t i,
                          struct place *out)
{
    const struct stack_frame *f = &j->frames[i];
    const char *which = which_of(f, own_id(j));

    *out = (struct place){.kind = LIBRARY, .image = find_image(s, f->module, which)};
    for (;; f++, i++) {
        out->call[out->n++] = f->function ? f->function : "";
        if (!f->inlined || out->n == CALLS_MAX || i + 1 == j->n || !f[1].module || !f[1].function ||
            strcmp(f->module, f[1].module) != 0 || strcmp(which, which_of(f + 1, own_id(j))) != 0)
            return i + 1;
    }
}

/* The class of "com.studio.Cache.load"; its length is where the method begins. */
static size_t class_of(const char *function)
{
    const char *dot = strrchr(function, '.');

    return dot ? (size_t)(dot - function) : 0;
}

/* Java's frames that R8 renamed: of the app, read with its mapping. */
static bool renamed(const struct stack_frame *f)
{
    return !f->module &&
           (f->status == STACK_STATUS_SYMBOLICATED || f->status == STACK_STATUS_AMBIGUOUS);
}

static void java_call(const struct beta_jank *j, const struct stack_frame *f, struct place *out)
{
    *out = (struct place){.kind = METHOD, .image = (unsigned)j->build};
    if (f->status == STACK_STATUS_SYMBOLICATED) {
        out->call[out->n++] = f->function;
        return;
    }
    while (out->n < f->n_alternatives && out->n < CALLS_MAX) {
        out->call[out->n] = f->alternatives[out->n];
        out->n++;
    }
}

static bool learn_java(struct beta_symbols *s, const struct beta_jank *j, size_t i)
{
    struct place method, class;
    char name[1024];

    java_call(j, &j->frames[i], &method);
    snprintf(name, sizeof name, "%.*s", (int)class_of(method.call[0]), method.call[0]);
    class = (struct place){.kind = CLASS, .image = method.image, .n = 1, .call = {name}};
    method.class = add_place(s, &class);
    return method.class && add_place(s, &method);
}

bool beta_learn(struct beta_symbols *s, const struct beta_jank *j)
{
    struct place p;

    for (size_t i = 0; i < j->n; i++)
        if (j->frames[i].module &&
            !add_image(s, j->frames[i].module, which_of(&j->frames[i], own_id(j))))
            return false;
    for (size_t i = 0; i < j->n;) {
        if (renamed(&j->frames[i]) && !learn_java(s, j, i))
            return false;
        if (!j->frames[i].module) {
            i++;
            continue;
        }
        i = native_call(s, j, i, &p);
        if (s->images[p.image].folder && !add_place(s, &p))
            return false;
    }
    return true;
}

/* As it is sent -----------------------------------------------------------------------------------
 */

/* Where in its function a sample was: as far as the beta's offsets differ. */
static uint64_t site_of(const struct stack_frame *f)
{
    return f->offset / 4 % (PLACE_BYTES / 4 - 1) * 4;
}

static bool send_java(const struct beta_symbols *s, const struct beta_jank *j,
                      const struct stack_frame *f, struct arena *mem, struct sent_frame *out)
{
    const struct place *found;
    struct place p;
    char text[128];

    if (!renamed(f)) {
        *out = (struct sent_frame){.text = f->function};
        return true;
    }
    java_call(j, f, &p);
    found = find_place(s, &p);
    if (!found)
        return false;
    snprintf(text, sizeof text, "o.c%u.m%u(SourceFile:%u)", found->class->number, found->number,
             1 + (unsigned)(site_of(f) / 4));
    *out = (struct sent_frame){.text = arena_dup(mem, text, strlen(text))};
    return out->text != NULL;
}

/* A caller's address is the one behind its call. */
static bool send_native(const struct beta_symbols *s, struct place *p, const struct stack_frame *f,
                        bool caller, struct sent_frame *out)
{
    const struct image *image = &s->images[p->image];
    const struct place *found = image->folder ? find_place(s, p) : NULL;

    *out = (struct sent_frame){.image = &image->is, .offset = CODE_AT + f->offset};
    if (!image->folder)
        return true;
    if (!found)
        return false;
    out->offset = CODE_AT + (uint64_t)found->number * PLACE_BYTES + site_of(f) + (caller ? 4 : 0);
    return true;
}

size_t beta_sent(const struct beta_symbols *s, const struct beta_jank *j, struct arena *mem,
                 struct sent_frame out[BETA_FRAMES])
{
    struct place p;
    size_t n = 0, next;

    for (size_t i = 0; i < j->n; i = next, n++) {
        const struct stack_frame *f = &j->frames[i];

        next = i + 1;
        if (f->status == STACK_STATUS_UNKNOWN) {
            out[n] = (struct sent_frame){0};
        } else if (!f->module) {
            if (!send_java(s, j, f, mem, &out[n]))
                return 0;
        } else {
            next = native_call(s, j, i, &p);
            if (p.image == IMAGES_MAX || !send_native(s, &p, &j->frames[next - 1], n > 0, &out[n]))
                return 0;
        }
    }
    return n;
}

/* Files -------------------------------------------------------------------------------------------
 */

static void put_string(FILE *f, const char *text)
{
    fputs(" .string \"", f);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc(*text, f);
    }
    fputs("\"\n", f);
}

/* Abbreviations: 1 a unit, 2 a function, 3 one that holds inlined ones, 4 an inlined call, 5 what
 * it is of, 6 an inlined call that holds another. */
static const char abbreviations[] =
    " .section .debug_abbrev,\"\",@progbits\n"
    " .uleb128 1,0x11\n .byte 1\n .uleb128 0x13,0x5,0x3,0x8,0x11,0x1,0x12,0x7,0x10,0x17,0,0\n"
    " .uleb128 2,0x2e\n .byte 0\n .uleb128 0x3,0x8,0x11,0x1,0x12,0x7,0,0\n"
    " .uleb128 3,0x2e\n .byte 1\n .uleb128 0x3,0x8,0x11,0x1,0x12,0x7,0,0\n"
    " .uleb128 4,0x1d\n .byte 0\n .uleb128 0x31,0x13,0x11,0x1,0x12,0x7,0x59,0xb,0,0\n"
    " .uleb128 5,0x2e\n .byte 0\n .uleb128 0x3,0x8,0x20,0xb,0,0\n"
    " .uleb128 6,0x1d\n .byte 1\n .uleb128 0x31,0x13,0x11,0x1,0x12,0x7,0x59,0xb,0,0\n"
    " .uleb128 0\n";

static void put_range(FILE *f, const struct place *p)
{
    fprintf(f, " .quad .Lcode+%llu,%u\n", (unsigned long long)p->number * PLACE_BYTES, PLACE_BYTES);
}

static void put_function(FILE *f, size_t label, const struct place *p)
{
    for (unsigned i = 0; i + 1 < p->n; i++) {
        fprintf(f, ".Lo%zu_%u: .uleb128 5\n", label, i);
        put_string(f, p->call[i]);
        fputs(" .byte 1\n", f);
    }
    fprintf(f, " .uleb128 %d\n", p->n > 1 ? 3 : 2);
    put_string(f, p->call[p->n - 1]);
    put_range(f, p);
    for (unsigned i = p->n - 1; i-- > 0;) {
        fprintf(f, " .uleb128 %d\n .long .Lo%zu_%u-.Lunit\n", i ? 6 : 4, label, i);
        put_range(f, p);
        fprintf(f, " .byte %u\n", 1 + p->number % 200);
    }
    for (unsigned i = 1; i < p->n; i++)
        fputs(" .byte 0\n", f);
}

/* Code that is never run: what counts is which lines its addresses have. */
static void put_code(FILE *f, const struct place *p)
{
    for (unsigned at = 0; at < PLACE_BYTES; at += PLACE_BYTES / 4)
        fprintf(f, " .loc 1 %u\n nop\n .zero %u,0x90\n", 1 + p->number % 3000 + at / 64,
                PLACE_BYTES / 4 - 1);
}

static void write_library(const struct beta_symbols *s, unsigned image, FILE *f)
{
    fputs(" .file 1 \"source.cpp\"\n .text\n.Lcode:\n", f);
    for (size_t i = 0; i < s->n_places; i++)
        if (s->places[i].kind == LIBRARY && s->places[i].image == image)
            put_code(f, &s->places[i]);
    fputs(abbreviations, f);
    fputs(" .section .debug_line,\"\",@progbits\n.Llines:\n .section .debug_info,\"\",@progbits\n"
          ".Lunit: .long .Lend-.Lstart\n.Lstart: .value 4\n .long .debug_abbrev\n .byte 8\n"
          " .uleb128 1\n .value 4\n",
          f);
    put_string(f, "source.cpp");
    fprintf(f, " .quad .Lcode,%llu\n .long .Llines\n",
            (unsigned long long)s->images[image].places * PLACE_BYTES);
    for (size_t i = 0; i < s->n_places; i++)
        if (s->places[i].kind == LIBRARY && s->places[i].image == image)
            put_function(f, i, &s->places[i]);
    fputs(" .byte 0\n.Lend:\n", f);
}

static void write_method(FILE *f, const struct place *p)
{
    size_t class = strlen(p->class->call[0]);

    if (p->n == 1) {
        fprintf(f, "    1:100:void %s():%u:%u -> m%u\n", p->call[0] + class + 1,
                1 + p->number % 900, 100 + p->number % 900, p->number);
        return;
    }
    for (unsigned i = 0; i < p->n; i++) {
        bool own =
            strncmp(p->call[i], p->class->call[0], class) == 0 && class_of(p->call[i]) == class;

        fprintf(f, "    void %s() -> m%u\n", p->call[i] + (own ? class + 1 : 0), p->number);
    }
}

static void write_mapping(const struct beta_symbols *s, unsigned build, FILE *f)
{
    fprintf(f, "# compiler: R8\n# pg_map_id: beta%u\n", build);
    for (size_t i = 0; i < s->n_places; i++) {
        const struct place *class = &s->places[i];

        if (class->kind != CLASS || class->image != build)
            continue;
        fprintf(f, "%s -> o.c%u:\n", class->call[0], class->number);
        for (size_t k = 0; k < s->n_places; k++)
            if (s->places[k].kind == METHOD && s->places[k].class == class)
                write_method(f, &s->places[k]);
    }
}

static FILE *open_in(const char *folder, const char *sub, const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name);
    return fopen(path, "we");
}

bool beta_symbols_write(const struct beta_symbols *s, const char *folder, FILE *list)
{
    bool ok = true;

    for (unsigned i = 0; ok && i < s->n_images; i++) {
        const struct image *image = &s->images[i];
        char name[128];
        FILE *f;

        if (!image->folder || !image->places)
            continue;
        snprintf(name, sizeof name, "%s.%.6s.s", image->is.name, image->is.debug_id);
        f = open_in(folder, image->folder, name);
        if (f)
            write_library(s, i, f);
        ok = f && fclose(f) == 0 &&
             fprintf(list, "%s %s %s\n", name, image->is.debug_id, image->folder) > 0;
    }
    for (unsigned build = 0; ok && build < BUILDS; build++) {
        FILE *f = open_in(folder, build ? BETA_LATE_FOLDER : BETA_EARLY_FOLDER, "mapping.txt");

        if (f)
            write_mapping(s, build, f);
        ok = f && fclose(f) == 0;
    }
    return ok;
}
