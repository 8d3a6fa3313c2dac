/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of global tokens: everything of the globals and of the text in one softmax.
 */
#include "build.h"

enum { DESC_V1 = 1080 };
_Static_assert(sizeof(heed_global_rows_desc) == DESC_V1, "heed_global_rows_desc may only grow");

heed_status heed_global_rows(const heed_global_rows_desc *given, heed_mechanism *out,
                             heed_report *report)
{
    struct heed_builder b;
    heed_global_rows_desc d;
    int64_t n;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_cross(&b, &d.q, &d.o, &d.text);
    if (status >= 0 && d.globals.k.ndim)
        status = heed_builder_keys(&b, "globals", &d.globals, &n);
    if (status < 0)
        return status;
    if (d.globals.k.ndim)
        heed_builder_source(&b, &d.globals, 1);
    heed_builder_source(&b, &d.text, 0);
    return heed_builder_finish(&b, out);
}
