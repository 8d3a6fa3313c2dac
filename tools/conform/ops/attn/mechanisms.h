/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The builders of heed/mechanisms.h in heed-conform.
 */
#ifndef HEED_TOOLS_CONFORM_OPS_ATTN_MECHANISMS_H
#define HEED_TOOLS_CONFORM_OPS_ATTN_MECHANISMS_H

#include "conform/engine/session.h"

/* So many of each builder, on every device; prints its own TAP lines. */
void family_mechanisms(struct session *, int64_t cases);
/* One, "NAME:key=value,...", as its line has it; a text that is no such line: `why` says so. */
bool mechanism_known(const char *text, char *why, size_t room);
void mechanism_case(struct session *, const char *text);

#endif
