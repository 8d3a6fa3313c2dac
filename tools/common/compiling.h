/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people see while a device compiles kernels, which takes seconds where nothing is kept yet:
 * the terminal's line says which kernel it is.
 */
#ifndef HEED_TOOLS_COMMON_COMPILING_H
#define HEED_TOOLS_COMMON_COMPILING_H

#include <heed/heed.h>

/* The logger of a runtime whose devices are to be seen; NULL: there is no such line. */
const heed_logger *compiling_logger(void);

#endif
