/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hepos: cross-attention by head-wise positional strides (Huang et al. 2021).
 */
#include "build.h"

enum { DESC_V1 = 656 };
_Static_assert(sizeof(heed_hepos_desc) == DESC_V1, "heed_hepos_desc may only grow");

heed_status heed_hepos(const heed_hepos_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_hepos_desc d;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_cross(&b, &d.q, &d.o, &d.text);
    if (status >= 0)
        status = heed_builder_range(&b, "stride", &d.stride, 4, INT32_MAX);
    if (status < 0)
        return status;
    heed_builder_source(&b, &d.text, 0);
    *heed_builder_term(&b) = (heed_term){
        .kind = HEED_TERM_ALL,
        .flags = d.stride > 1 ? HEED_TERM_PHASE_HEAD : 0,
        .step = d.stride,
    };
    return heed_builder_finish(&b, out);
}
