#include "base/cursor.h"
#include "stacks/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 64

/* Where memory ran out, that what was asked for is not there says nothing. */
#define HOLDS(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Frames are lines: a byte of status and kind, then "function TAB module TAB file". Lines that
 * begin with '#' are rules: a byte of list, a byte of field, then the pattern. */
struct input {
    char *text;
    struct stack_frame frames[FRAMES];
    struct rule rules[4][FRAMES];
    size_t n, n_rules[4];
};

static void take_rule(struct input *in, char *line)
{
    size_t list = (unsigned char)line[0] % 4;

    if (!line[0] || !line[1] || !line[2] || in->n_rules[list] == FRAMES)
        return;
    in->rules[list][in->n_rules[list]++] =
        (struct rule){(enum rule_field)((unsigned char)line[1] % RULE_FIELD_COUNT), line + 2, "o"};
}

static void take_frame(struct input *in, char *line)
{
    struct stack_frame *f = &in->frames[in->n];
    char *save = NULL;

    if (!line[0] || in->n == FRAMES)
        return;
    f->status = (enum stack_status)((unsigned char)line[0] % STACK_STATUS_COUNT);
    f->function = strtok_r(line + 1, "\t", &save);
    f->module = strtok_r(NULL, "\t", &save);
    f->file = strtok_r(NULL, "\t", &save);
    f->line = (uint32_t)in->n;
    in->n++;
}

static void read_input(struct input *in)
{
    char *save = NULL;

    for (char *line = strtok_r(in->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (line[0] == '#')
            take_rule(in, line + 1);
        else
            take_frame(in, line);
}

static void check(const struct family *f, size_t n)
{
    HOLDS(f->n_notes == n && f->culprit <= n && f->n_names <= RULES_DEPTH_MAX && f->title);
    HOLDS(!f->n_names || f->culprit < n);
    for (size_t i = 0; i < n; i++)
        HOLDS(f->notes[i].name && f->notes[i].position <= f->n_names);
}

static void run(struct input *in, struct arena *mem)
{
    struct stack_input stack = {.frames = in->frames, .n = in->n};
    struct rules rules = {in->rules[0],
                          in->rules[1],
                          in->n_rules[0],
                          in->n_rules[1],
                          in->rules[2],
                          in->n_rules[2],
                          in->rules[3],
                          in->n_rules[3],
                          0,
                          0,
                          0,
                          NULL};
    struct family one, other;
    const char *const *names;
    struct err err;
    size_t n;

    if (!rules_check(&rules, &err) || !family_of(&stack, &rules, mem, &one, &err))
        return;
    check(&one, in->n);
    for (size_t i = 0; i < in->n; i++)
        in->frames[i].line += 1000;
    HOLDS(family_of(&stack, &rules, mem, &other, &err));
    HOLDS(memcmp(one.fingerprint, other.fingerprint, sizeof one.fingerprint) == 0);
    HOLDS(family_folded(&one, mem, &names, &n) && n <= in->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input *in = calloc(1, sizeof *in);
    struct arena *mem = arena_new((size_t)64 << 20);

    if (in && mem && (in->text = malloc(size + 1))) {
        memcpy(in->text, data, size);
        in->text[size] = '\0';
        read_input(in);
        run(in, mem);
        free(in->text);
    }
    arena_free(mem);
    free(in);
    return 0;
}
