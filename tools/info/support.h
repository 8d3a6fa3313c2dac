/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-info --support: which operation works on which device, in which element type and with which
 * promise about its bits.
 */
#ifndef HEED_TOOLS_INFO_SUPPORT_H
#define HEED_TOOLS_INFO_SUPPORT_H

#include <heed/heed.h>

#include <stdbool.h>

void support_print(const heed_runtime *, bool json);

#endif
