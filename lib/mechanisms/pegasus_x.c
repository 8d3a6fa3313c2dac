/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pegasus-X: block-local attention with global tokens, and staggered blocks (Phang, Zhao and Liu
 * 2022). A shift of the blocks is a shift of all positions the other way.
 */
#include "build.h"

#include "../core/error.h"

enum { DESC_V1 = 1088 };
_Static_assert(sizeof(heed_pegasus_x_desc) == DESC_V1, "heed_pegasus_x_desc may only grow");

heed_status heed_pegasus_x(const heed_pegasus_x_desc *given, heed_mechanism *out,
                           heed_report *report)
{
    struct heed_builder b;
    heed_pegasus_x_desc d;
    int64_t n = 0, globals;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d),
                                           HEED_PEGASUS_X_STAGGERED, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0 && d.globals.k.ndim)
        status = heed_builder_keys(&b, "globals", &d.globals, &globals);
    if (status >= 0)
        status = heed_builder_range(&b, "block", &d.block, 512, INT32_MAX);
    if (status < 0)
        return status;
    if ((d.flags & HEED_PEGASUS_X_STAGGERED) && d.block % 2 != 0)
        return heed_report_fill(report, HEED_E_VALUE, "block", d.block + 1, d.block,
                                "staggered blocks of %lld tokens have no middle",
                                (long long)d.block);
    if (d.globals.k.ndim)
        heed_builder_source(&b, &d.globals, 1);
    b.m.desc.q_pos0 = d.flags & HEED_PEGASUS_X_STAGGERED ? d.block / 2 : 0;
    heed_builder_source(&b, &d.text, 0)->pos0 = b.m.desc.q_pos0;
    *heed_builder_term(&b) = (heed_term){ .kind = HEED_TERM_WINDOW, .block = (int32_t)d.block };
    return heed_builder_finish(&b, out);
}
