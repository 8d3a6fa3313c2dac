/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The matrix unit of this compilation: its fragments (dialect_mma.h) and what runs it.
 */
#ifndef HEED_BACKENDS_KERNELS_UNITS_H
#define HEED_BACKENDS_KERNELS_UNITS_H

#include "numerics.h"

#include "dialect_mma.h"
#if HK_MINE == 1
#include "dialect_units.h"
#else
#include "dialect_model.h"
#endif

#endif
