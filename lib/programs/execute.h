/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The implementation of programs: it runs those of the stages.
 */
#ifndef HEED_LIB_PROGRAMS_EXECUTE_H
#define HEED_LIB_PROGRAMS_EXECUTE_H

#include "program.h"

/* Named after the implementations of the stages; NULL: no memory. */
const struct heed_impl *heed_program_impl(const struct heed_program *, struct heed_arena *);

#endif
