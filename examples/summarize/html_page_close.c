/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The page into an open file, to its end.
 */
#include "summarize.h"

#include <errno.h>
#include <string.h>

bool output_html_failed(struct failure *why, const char *reason)
{
    snprintf(why->text, sizeof(why->text), "cannot write the page: %s", reason);
    return false;
}

bool output_html_close(FILE *to, const struct report *r, struct failure *why)
{
    const bool good = output_html(to, r);
    const bool written = fflush(to) == 0 && !ferror(to);
    const int reason = errno;

    if (fclose(to) != 0 && written)
        return output_html_failed(why, strerror(errno));
    if (!good)
        return output_html_failed(why, "not enough memory");
    return written || output_html_failed(why, strerror(reason));
}
