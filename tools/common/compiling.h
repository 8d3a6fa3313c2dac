/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people see while a device compiles kernels, which takes seconds where nothing is kept yet:
 * on a terminal one line on stderr, which leaves nothing behind.
 */
#ifndef HEED_TOOLS_COMMON_COMPILING_H
#define HEED_TOOLS_COMMON_COMPILING_H

#include <heed/heed.h>

/* The logger of a runtime whose devices are to be seen; NULL: stderr is no terminal, or
 * compiling_hide() was called. */
const heed_logger *compiling_logger(void);

/* Shows nothing in this process, as --quiet asks for. */
void compiling_hide(void);

/* Takes away what is shown, before something else is printed. */
void compiling_clear(void);

#endif
