/*
 * environment: where this process runs. Named checks, each of which leaves one line of evidence
 * when it speaks; none is a verdict by itself. Run once, on the sampling thread.
 */
#pragma once
#include "src/collect/reader.h"

#define FW_MAX_EVIDENCE 12
#define FW_EVIDENCE_BYTES 96

struct fw_environment {
    bool rooted, debugger, emulator;
    char text[FW_MAX_EVIDENCE][FW_EVIDENCE_BYTES];
    size_t n;
};

/* root: "" for this system; a folder that stands for "/" in tests. */
void fw_environment_look(struct fw_environment *e, struct fw_reader *r, const char *root);
