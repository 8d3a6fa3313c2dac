/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The instruction sets that the kernels are compiled for, and which of them this processor has.
 */
#ifndef HEED_BACKENDS_CPU_ISA_H
#define HEED_BACKENDS_CPU_ISA_H

#include "../device/host.h"

struct heed_cpu_isa {
    const char *name, *description;
    const char *(*refuse)(void);        /* NULL: processor and operating system have it */
    heed_host_kernel *kernels[HEED_KERNELS][2];
    bool halves;                        /* the rows with `halves` in their names are among them */
};

/* From the most portable to the widest; NULL past the end. */
const struct heed_cpu_isa *heed_isa_get(uint32_t i);

/* NULL: this processor and operating system run it to the bit; else why not, static text. */
const char *heed_isa_refuse(const struct heed_cpu_isa *);

/* The widest that is not refused. */
const struct heed_cpu_isa *heed_isa_best(void);

#endif
