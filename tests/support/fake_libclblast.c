/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A CLBlast that lacks a function that heed calls, as an old one does.
 */
#include <stddef.h>

int CLBlastSgemm(void);

__attribute__((visibility("default"))) int CLBlastSgemm(void)
{
    return -1;
}
