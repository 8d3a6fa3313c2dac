/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading JSON that somebody else wrote: the text is checked as a whole, and members of the
 * outermost object are found by name. text.h has what writes JSON.
 */
#ifndef HEED_TOOLS_COMMON_JSON_H
#define HEED_TOOLS_COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Is that one JSON object and nothing else but blanks? */
bool json_object(const char *text);

/* The member that is a string, cut to `size`; what is no plain ASCII is kept or becomes '?'. An
 * object that json_object() takes. false: there is no such member, or it is no string. */
bool json_member(const char *object, const char *name, char *out, size_t size);

#endif
