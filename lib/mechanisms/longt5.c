/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LongT5: local attention with relative biases, and transient-global attention to sums of tokens
 * that the caller brings (Guo et al. 2022, sections 3.1.1 and 3.1.2).
 */
#include "build.h"

#include "../core/error.h"

enum { DESC_V1 = 1544 };
_Static_assert(sizeof(heed_longt5_desc) == DESC_V1, "heed_longt5_desc may only grow");

/* `part` stands only beside `whole`. */
static heed_status belongs(const struct heed_builder *b, const char *part, uint32_t part_ndim,
                           const char *whole, uint32_t whole_ndim)
{
    if (part_ndim == 0 || whole_ndim > 0)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_VALUE, part, 0, part_ndim,
                            "%s has no meaning without %s", part, whole);
}

static heed_status biases_check(const struct heed_builder *b, const heed_longt5_desc *d)
{
    const uint32_t tables = d->table.t.ndim + d->side_table.t.ndim;
    heed_status status = belongs(b, "side_table", d->side_table.t.ndim, "side", d->side.k.ndim);

    if (status >= 0)
        status = belongs(b, "map", d->map.t.ndim, "a table", tables);
    if (status >= 0)
        status = belongs(b, "block_ids", d->block_ids.t.ndim, "a side_table",
                         d->side_table.t.ndim);
    if (status >= 0 && d->side_table.t.ndim && !d->block_ids.t.ndim)
        status = heed_report_fill(b->report, HEED_E_NULL, "block_ids", 0, 0,
                                  "a side_table goes by the blocks of rows, which are absent");
    return status;
}

static void bias_add(struct heed_builder *b, const heed_longt5_desc *d, uint32_t number,
                     const heed_slot *table, uint32_t coord)
{
    if (table->t.ndim == 0)
        return;
    *heed_builder_bias(b) = (heed_bias){
        .kind = HEED_BIAS_TABLE,
        .zero = d->zero,
        .t = heed_builder_slot(b, number, table),
        .map = heed_builder_slot(b, HEED_MECHANISM_MAP, &d->map),
        .q_coord = coord,
    };
}

heed_status heed_longt5(const heed_longt5_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_longt5_desc d;
    int64_t n = 0;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), 0, out, report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &n);
    if (status >= 0 && d.side.k.ndim)
        status = heed_builder_keys(&b, "side", &d.side, &n);
    if (status >= 0)
        status = heed_builder_range(&b, "radius", &d.radius, 127, HEED_MOST_WINDOW);
    if (status >= 0)
        status = biases_check(&b, &d);
    if (status < 0)
        return status;
    b.m.desc.scale = 1;
    heed_builder_source(&b, &d.text, 0);
    *heed_builder_term(&b) =
        (heed_term){ .kind = HEED_TERM_WINDOW, .left = d.radius, .right = d.radius };
    bias_add(&b, &d, HEED_MECHANISM_TABLE, &d.table, 0);
    if (d.side.k.ndim) {
        heed_builder_source(&b, &d.side, 1);
        bias_add(&b, &d, HEED_MECHANISM_TABLE_2, &d.side_table,
                 heed_builder_slot(&b, HEED_MECHANISM_COORD, &d.block_ids));
    }
    return heed_builder_finish(&b, out);
}
