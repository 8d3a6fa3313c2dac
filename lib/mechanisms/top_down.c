/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Top-down inference: rows of a fine level see every unit of a coarse one (Pang et al. 2022). Rows
 * and units have lengths of their own.
 */
#include "build.h"

enum { DESC_V1 = 760 };
_Static_assert(sizeof(heed_top_down_desc) == DESC_V1, "heed_top_down_desc may only grow");

heed_status heed_top_down(const heed_top_down_desc *given, heed_mechanism *out,
                          heed_report *report)
{
    struct heed_builder b;
    heed_top_down_desc d;
    int64_t n;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_extent(&b, "q", &d.q, 2, &n);
    if (status >= 0)
        status = heed_builder_extent(&b, "o", &d.o, 2, &n);
    if (status >= 0)
        status = heed_builder_keys(&b, "top", &d.top, &n);
    if (status < 0)
        return status;
    b.m.desc.q = d.q;
    b.m.desc.o = d.o;
    b.m.desc.q_len_slot = heed_builder_slot(&b, HEED_MECHANISM_LEN_2, &d.rows);
    heed_builder_source(&b, &d.top, 0);
    return heed_builder_finish(&b, out);
}
