/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people see while they wait: on a terminal, from half a second on, one line on stderr that
 * leaves nothing behind.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_PROGRESS_H
#define HEED_EXAMPLES_SUMMARIZE_PROGRESS_H

#include <heed/heed.h>

#include <stdint.h>

/* The parts of the work, in order. */
enum progress_phase {
    PROGRESS_READ,
    PROGRESS_SPLIT,
    PROGRESS_WEIGH,
    PROGRESS_ATTEND,
    PROGRESS_WRITE                     /* by a model, in the place of attention */
};

/* Starts the clock. Where stderr is no terminal, nothing will be shown. While the line is shown, a
 * signal that ends the program clears it first. */
void progress_begin(void);

/* The next part begins. */
void progress_enter(enum progress_phase phase);

/* How many words the document has, for the speed. */
void progress_words(int64_t words);

/* An attend_progress of the last two phases; no context. */
void progress_show(void *context, int64_t done, int64_t all);

/* The logger that shows, in place of the line, which kernel a device compiles; NULL: nothing is
 * shown. */
const heed_logger *progress_logger(void);

/* Clears the line, before something else is said. */
void progress_clear(void);
/* Shows nothing any more. */
void progress_end(void);

#endif
