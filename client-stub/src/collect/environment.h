/*
 * environment: where this process runs. Named checks, each of which leaves one line of evidence
 * when it speaks ("root.su: /system/xbin/su"); none is a verdict by itself: a check that speaks
 * sets its family's flag, and whoever reads sees why. Run once, on the sampling thread. docs/sdk.md
 * lists the checks.
 *
 * To add one: a function and a line in the table of environment.c, and its row in the docs.
 */
#pragma once
#include "src/collect/reader.h"
#include "wire/session_writer.h"

#include <framewatch.h>

#define FW_MAX_EVIDENCE 16
#define FW_EVIDENCE_BYTES 96

struct fw_environment {
    bool family[FW_EVIDENCE_REPACKAGED + 1]; /* by fw_evidence_kind: a check of it spoke */
    char text[FW_MAX_EVIDENCE][FW_EVIDENCE_BYTES];
    size_t n;
};

struct fw_surroundings {
    const char *root; /* "": this system; a folder that stands for "/" in tests */
    enum fw_platform platform;
    bool (*property)(const char *name, char *out, size_t size); /* fw_platform_property */
    size_t (*ask)(void *user, fw_evidence *out, size_t max);    /* the game; NULL: it has no say */
    void *user;
};

void fw_environment_look(struct fw_environment *e, struct fw_reader *r,
                         const struct fw_surroundings *s);
