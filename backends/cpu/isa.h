/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The instruction sets that tile.c was compiled for, and which of them this processor has.
 */
#ifndef HEED_BACKENDS_CPU_ISA_H
#define HEED_BACKENDS_CPU_ISA_H

#include "tile.h"

/* From the most portable to the widest; NULL past the end. */
const struct heed_cpu_isa *heed_isa_get(uint32_t i);

/* NULL: this processor and operating system run it; else why not, static text. */
const char *heed_isa_refuse(const struct heed_cpu_isa *);

/* The widest that is not refused. */
const struct heed_cpu_isa *heed_isa_best(void);

#endif
