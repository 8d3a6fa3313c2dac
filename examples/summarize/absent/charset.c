/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where there is no iconv, no character set is known by its name.
 */
#include "../read.h"

bool encoding_by_name(const char *charset, const char *bytes, size_t size, char **text,
                      size_t *length)
{
    (void)charset;
    (void)bytes;
    (void)size;
    (void)text;
    (void)length;
    return false;
}
