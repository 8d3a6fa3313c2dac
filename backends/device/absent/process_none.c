/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a program's headers cannot be asked for: systems whose programs are always dynamic.
 */
#include "../process.h"

bool heed_process_is_static(void)
{
    return false;
}
