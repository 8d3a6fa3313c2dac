/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_ABSTRACT_H
#define HEED_EXAMPLES_SUMMARIZE_ABSTRACT_H

#include "options.h"

/* Prints what the model of --model writes about a document with its segments. `salient`: which
 * sentences all parts are to know of; NULL: none. `written` takes what it looked at; NULL: nobody
 * asks. Returns an exit status, and all is said. */
int abstract_write(const struct options *o, const struct document *doc, const bool *salient,
                   struct written *written);

/* By which library; NULL: built without it. */
const char *abstract_library(void);

#endif
