/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Longformer: a sliding window, dilated or not, and global tokens (Beltagy, Peters and Cohan 2020,
 * section 3.1).
 */
#include "window.h"

#include "../core/error.h"

enum { DESC_V1 = 784 };
_Static_assert(sizeof(heed_longformer_desc) == DESC_V1, "heed_longformer_desc may only grow");

#define MOST_DILATION (INT64_C(1) << 20)

heed_status heed_builder_window(struct heed_builder *b, const heed_keys *text,
                                const struct heed_global_window *w)
{
    const uint32_t list = heed_builder_slot(b, HEED_MECHANISM_LIST, &w->globals);
    const int64_t most = list ? 0 : w->n < INT32_MAX ? w->n : INT32_MAX;
    const heed_status status = heed_builder_within(b, "n_globals", w->n_globals, 0, most);

    if (status < 0)
        return status;
    heed_builder_source(b, text, 0);
    *heed_builder_term(b) = (heed_term){
        .kind = HEED_TERM_WINDOW,
        .flags = w->dilation > 1 ? HEED_TERM_PHASE_QUERY : 0,
        .left = w->window * w->dilation,
        .right = w->window * w->dilation,
        .step = w->dilation,
    };
    if (list || w->n_globals)
        *heed_builder_term(b) = (heed_term){
            .kind = HEED_TERM_GLOBAL,
            .flags = w->flags,
            .block = (int32_t)w->n_globals,
            .slot = list,
        };
    return HEED_OK;
}

heed_status heed_longformer(const heed_longformer_desc *given, heed_mechanism *out,
                            heed_report *report)
{
    struct heed_builder b;
    heed_longformer_desc d;
    struct heed_global_window w;
    int64_t n = 0;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d),
                                           HEED_LONGFORMER_KEYS_ONLY, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0)
        status = heed_builder_range(&b, "window", &d.window, 256, HEED_MOST_WINDOW);
    if (status >= 0)
        status = heed_builder_range(&b, "dilation", &d.dilation, 1, MOST_DILATION);
    if (status < 0)
        return status;
    w = (struct heed_global_window){
        .n = n,
        .globals = d.globals,
        .n_globals = d.n_globals,
        .window = d.window,
        .dilation = d.dilation,
        .flags = d.flags & HEED_LONGFORMER_KEYS_ONLY ? HEED_TERM_KEYS
                                                     : HEED_TERM_KEYS | HEED_TERM_ROWS,
    };
    status = heed_builder_window(&b, &d.text, &w);
    return status < 0 ? status : heed_builder_finish(&b, out);
}
