/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-info --pattern: what rows see under a mechanism, drawn by heed_attn_visible().
 */
#ifndef HEED_TOOLS_INFO_PICTURE_H
#define HEED_TOOLS_INFO_PICTURE_H

#include <stdbool.h>
#include <stdio.h>

/* Draws head `head` of "NAME[:key=value,...]" as characters, or as SVG. An exit code; what is
 * wrong is a line on stderr. */
int picture_print(const char *text, int head, bool svg);

/* The names with the numbers that each takes. */
void picture_list(FILE *to);

/* The same for --help, with what they are. */
void picture_names(FILE *to);

#endif
