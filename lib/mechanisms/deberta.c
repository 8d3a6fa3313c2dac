/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * DeBERTa: disentangled attention (He et al. 2021, section 3.1), of all keys or of a window.
 */
#include "build.h"

#include "../core/error.h"

#include <math.h>

enum { DESC_V1 = 1000 };
_Static_assert(sizeof(heed_deberta_desc) == DESC_V1, "heed_deberta_desc may only grow");

heed_status heed_deberta(const heed_deberta_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_deberta_desc d;
    int64_t n = 0, channels = 0;
    int terms;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_extent(&b, "q", &d.q, 1, &channels);
    if (status >= 0)
        status = heed_builder_within(&b, "window", d.window, 0, HEED_MOST_WINDOW);
    if (status < 0)
        return status;
    terms = 1 + (d.kr.t.ndim > 0) + (d.qr.t.ndim > 0);
    if (d.map.t.ndim && terms == 1)
        return heed_report_fill(report, HEED_E_VALUE, "map", 0, d.map.t.ndim,
                                "map has no meaning without kr or qr");
    b.m.desc.scale = channels ? 1 / sqrt((double)terms * (double)channels) : 0;
    heed_builder_source(&b, &d.text, 0);
    if (d.window)
        *heed_builder_term(&b) =
            (heed_term){ .kind = HEED_TERM_WINDOW, .left = d.window, .right = d.window };
    if (terms > 1)
        *heed_builder_bias(&b) = (heed_bias){
            .kind = HEED_BIAS_DOT,
            .zero = d.zero,
            .t = heed_builder_slot(&b, HEED_MECHANISM_TABLE, &d.kr),
            .u = heed_builder_slot(&b, HEED_MECHANISM_TABLE_2, &d.qr),
            .map = heed_builder_slot(&b, HEED_MECHANISM_MAP, &d.map),
        };
    return heed_builder_finish(&b, out);
}
