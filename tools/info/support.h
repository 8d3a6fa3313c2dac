/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-info --support and --mechanisms: which operation, or mechanism, works on which device, in
 * which element type and with which promise about its bits.
 */
#ifndef HEED_TOOLS_INFO_SUPPORT_H
#define HEED_TOOLS_INFO_SUPPORT_H

#include <heed/heed.h>

#include <stdbool.h>

/* mechanisms: those of heed/mechanisms.h by name, in place of the operations. */
void support_print(const heed_runtime *, bool mechanisms, bool json);

#endif
