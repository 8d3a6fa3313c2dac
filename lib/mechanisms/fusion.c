/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Poolingformer's fusion with DeBERTa (Zhang et al. 2021 and the thesis on it): a window with
 * the scores of DeBERTa, and global tokens whose pairs have a table of their own.
 */
#include "build.h"

#include "../core/error.h"

#include <math.h>

enum { DESC_V1 = 1776 };
_Static_assert(sizeof(heed_poolingformer_deberta_desc) == DESC_V1,
               "heed_poolingformer_deberta_desc may only grow");

/* Pairs with a global token score as the others do: the same tables are there, or not. */
static heed_status both(const struct heed_builder *b, const char *global_name,
                        const heed_slot *global, const heed_slot *of_text)
{
    const bool has = global->t.ndim > 0, wanted = of_text->t.ndim > 0;

    if (has == wanted)
        return HEED_OK;
    return heed_report_fill(b->report, has ? HEED_E_VALUE : HEED_E_NULL, global_name,
                            of_text->t.ndim, global->t.ndim,
                            has ? "%s stands only beside the text's table"
                                : "the text has a table and %s is absent", global_name);
}

static heed_status tables_check(const struct heed_builder *b,
                                const heed_poolingformer_deberta_desc *d)
{
    const bool any = d->kr.t.ndim > 0 || d->qr.t.ndim > 0;
    heed_status status = both(b, "global_kr", &d->global_kr, &d->kr);

    if (status >= 0)
        status = both(b, "global_qr", &d->global_qr, &d->qr);
    if (status >= 0 && !any && (d->map.t.ndim > 0 || d->global_map.t.ndim > 0))
        status = heed_report_fill(b->report, HEED_E_VALUE,
                                  d->map.t.ndim > 0 ? "map" : "global_map", 0, 1,
                                  "a map has no meaning without tables");
    return status;
}

static heed_status arrays(struct heed_builder *b, const heed_poolingformer_deberta_desc *d,
                          bool global_rows)
{
    int64_t n = 0, g = 0;
    heed_status status = global_rows ? heed_builder_cross(b, &d->q, &d->o, &d->text)
                                     : heed_builder_self(b, &d->q, &d->o, &d->text, &n);

    if (status >= 0)
        status = heed_builder_keys(b, "globals", &d->globals, &g);
    if (status >= 0 && global_rows)
        status = heed_builder_extent(b, "q", &d->q, 2, &n);
    if (status >= 0 && global_rows && n != g)
        status = heed_report_fill(b->report, HEED_E_SHAPE, "globals.k", n, g,
                                  "there are %lld global tokens and q has %lld rows",
                                  (long long)g, (long long)n);
    b->m.desc.q_pos0 = global_rows ? -g : 0;
    return status;
}

static void global_tables(struct heed_builder *b, const heed_poolingformer_deberta_desc *d)
{
    if (d->kr.t.ndim == 0 && d->qr.t.ndim == 0)
        return;
    *heed_builder_bias(b) = (heed_bias){
        .kind = HEED_BIAS_DOT,
        .zero = d->global_zero,
        .t = heed_builder_slot(b, HEED_MECHANISM_GLOBAL_TABLE, &d->global_kr),
        .u = heed_builder_slot(b, HEED_MECHANISM_GLOBAL_TABLE_2, &d->global_qr),
        .map = heed_builder_slot(b, HEED_MECHANISM_GLOBAL_MAP, &d->global_map),
    };
}

static void text_tables(struct heed_builder *b, const heed_poolingformer_deberta_desc *d)
{
    *heed_builder_term(b) =
        (heed_term){ .kind = HEED_TERM_WINDOW, .left = d->window, .right = d->window };
    if (d->kr.t.ndim == 0 && d->qr.t.ndim == 0)
        return;
    *heed_builder_bias(b) = (heed_bias){
        .kind = HEED_BIAS_DOT,
        .zero = d->zero,
        .t = heed_builder_slot(b, HEED_MECHANISM_TABLE, &d->kr),
        .u = heed_builder_slot(b, HEED_MECHANISM_TABLE_2, &d->qr),
        .map = heed_builder_slot(b, HEED_MECHANISM_MAP, &d->map),
    };
}

heed_status heed_poolingformer_deberta(const heed_poolingformer_deberta_desc *given,
                                       heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_poolingformer_deberta_desc d;
    int64_t channels = 0;
    bool global_rows;
    heed_source *globals;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d),
                                           HEED_POOLINGFORMER_GLOBAL_ROWS, out, report);

    if (status < 0)
        return status;
    global_rows = d.flags & HEED_POOLINGFORMER_GLOBAL_ROWS;
    status = arrays(&b, &d, global_rows);
    if (status >= 0)
        status = heed_builder_extent(&b, "q", &d.q, 1, &channels);
    if (status >= 0)
        status = heed_builder_range(&b, "window", &d.window, 128, HEED_MOST_WINDOW);
    if (status >= 0)
        status = tables_check(&b, &d);
    if (status < 0)
        return status;
    b.m.desc.scale = channels ? 1 / sqrt((1.0 + (d.kr.t.ndim > 0) + (d.qr.t.ndim > 0)) *
                                         (double)channels)
                              : 0;
    globals = heed_builder_source(&b, &d.globals, 1);
    globals->pos0 = -d.globals.k.shape[d.globals.k.ndim - 2];
    global_tables(&b, &d);
    heed_builder_source(&b, &d.text, 0);
    if (global_rows)
        global_tables(&b, &d);
    else
        text_tables(&b, &d);
    return heed_builder_finish(&b, out);
}
