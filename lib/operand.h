/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arrays of a run, each visited as an operand: view, place, name. What is done with one is the
 * visitor's affair.
 */
#ifndef HEED_LIB_OPERAND_H
#define HEED_LIB_OPERAND_H

#include "bind.h"

enum { HEED_FIELD = 64 };           /* bytes of a field name, NUL included */

/* An array of the run: element [0,...,0] at p. A "[]" in name stands for [index]. On devices whose
 * memory is an opaque handle, p is the offset in bytes into the memory `handle`; else handle is
 * NULL for all of them, which makes one memory of it. */
struct heed_operand {
    struct heed_view view;
    const void *p;
    void *handle;
    const char *name;
    uint32_t index, given;          /* given: there is memory */
};

/* What one pass over the operands sees; heed_status < 0 ends it. */
struct heed_pass {
    heed_status (*visit)(const struct heed_pass *, const struct heed_operand *);
    struct heed_binding *binding;
    const heed_attn_args *args;         /* may be NULL for passes that do not look at it */
    const struct heed_operand *against; /* the aliasing pass: an output or the workspace */
    void *other;                        /* the visitor's own */
    heed_report *report;
};

/* Places are those in the binding. Every use of a run-time slot is visited: one that is used twice
 * is seen with both shapes. */
HEED_MUST_CHECK
heed_status heed_operand_slots(const struct heed_pass *, const struct heed_checked *);
HEED_MUST_CHECK
heed_status heed_operand_inputs(const struct heed_pass *, const struct heed_checked *);
HEED_MUST_CHECK
heed_status heed_operand_outputs(const struct heed_pass *, const struct heed_checked *);

/* Fills a report about an operand. */
heed_status heed_operand_fail(heed_report *, heed_status, const struct heed_operand *,
                              int64_t wanted, int64_t got, const char *message);
void heed_operand_name(char field[HEED_FIELD], const char *name, uint32_t index);

#endif
