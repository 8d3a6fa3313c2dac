/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Poolingformer, level 1: the window and global tokens of Longformer by one set of projections
 * (Zhang et al. 2021, the first level).
 */
#include "window.h"

enum { DESC_V1 = 776 };
_Static_assert(sizeof(heed_poolingformer_desc) == DESC_V1, "heed_poolingformer_desc may only grow");

heed_status heed_poolingformer_level1(const heed_poolingformer_desc *given, heed_mechanism *out,
                                      heed_report *report)
{
    struct heed_builder b;
    heed_poolingformer_desc d;
    struct heed_global_window w;
    int64_t n = 0;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_range(&b, "window", &d.window, 128, HEED_MOST_WINDOW);
    if (status < 0)
        return status;
    w = (struct heed_global_window){
        .n = n,
        .globals = d.globals,
        .n_globals = d.n_globals,
        .window = d.window,
        .dilation = 1,
        .flags = HEED_TERM_KEYS | HEED_TERM_ROWS,
    };
    status = heed_builder_window(&b, &d.text, &w);
    return status < 0 ? status : heed_builder_finish(&b, out);
}
