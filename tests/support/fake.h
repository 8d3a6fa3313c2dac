/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the vendors' drivers of the tests have in common: calls are counted and written down, any of
 * them can be made to fail, and what a real driver would not forgive is a mistake.
 */
#ifndef HEED_TESTS_SUPPORT_FAKE_H
#define HEED_TESTS_SUPPORT_FAKE_H

#include <stdbool.h>
#include <stddef.h>

/* What is alive, and which uses of it are mistakes. */
enum fake_kind {
    FAKE_CONTEXT,
    FAKE_QUEUE,
    FAKE_MEMORY,
    FAKE_PROGRAM,
    FAKE_MODULE,
    FAKE_KERNEL,
    FAKE_EVENT,
    FAKE_PRODUCT, /* what a library of matrices makes */
    FAKE_KINDS
};

struct fake {
    /* To be set. */
    const char *fail_name;          /* only calls of this name count; NULL: all do */
    long fail_at;                   /* this call fails, from 1; 0: all of fail_name, if any */
    int fail_code;
    bool poison;                    /* after it has failed, all that can fail fails so */
    /* Told of each kernel that is launched, with its blob and buffer number 1; may be NULL. */
    void (*launched)(unsigned items, unsigned groups, const void *blob, void *output);
    /* To be read. */
    long calls, counted;            /* all of them; those of fail_name */
    char failed[32], next[32];      /* the first call that failed, and the one after it
                                     * that is no entering or leaving of a context */
    long mistakes;
    char mistake[64];               /* the first */
    char trace[1024];               /* names of calls, a space after each; may be emptied */
    bool poisoned;
    long alive[FAKE_KINDS];
};

/* There is one, for one thread. reset: nothing set, counted or alive. */
extern struct fake fake;
void fake_reset(void);

/* Writes the name down without counting it. */
void fake_note(const char *name);
/* Counts a call. 0, or the code with which it is to fail. */
int fake_call(const char *name);
void fake_mistake(const char *what);
/* From now on nothing fails. */
void fake_mend(void);

/* Objects begin with zeros, at a multiple of 256, and stay allocated until the reset, so that late
 * uses are seen. is: a living one of that kind; anything else is a mistake of that name. */
void *fake_create(enum fake_kind, size_t bytes);
bool fake_is(const void *object, enum fake_kind, const char *name);
bool fake_retain(void *object, enum fake_kind, const char *name);
bool fake_release(void *object, enum fake_kind, const char *name);
size_t fake_bytes(const void *object);
long fake_alive(void);              /* of all kinds */

#endif
