/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed-conform says of its options.
 */
#ifndef HEED_TOOLS_CONFORM_USAGE_H
#define HEED_TOOLS_CONFORM_USAGE_H

#include <stdio.h>

void usage_print(FILE *to);

/* What an option takes, for a line that says so. */
const char *usage_wanted(const char *option);

#endif
