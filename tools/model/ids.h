/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ids as numbers with white space between them. Both give malloc'd memory, or EXIT_USAGE after a
 * complaint; *ids is then what there is, for free().
 */
#ifndef HEED_TOOLS_MODEL_IDS_H
#define HEED_TOOLS_MODEL_IDS_H

#include <stdint.h>
#include <stdio.h>

int ids_read(FILE *from, int32_t **ids, int64_t *n);
int ids_parse(const char *text, int32_t **ids, int64_t *n);

#endif
