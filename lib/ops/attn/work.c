/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The useful work of a plan, counted from the reach of its rows. An estimate where only run knows:
 * masks, lengths, list entries and loaded ranges count at their bound. Long row axes are sampled.
 */
#include "../../layouts/layouts.h"
#include "../../types/types.h"

#define ROWS_COUNTED 65536

/* Ordinals in the union of a reach's ranges. */
static double reach_count(const struct hk_reach *reach)
{
    int64_t lo[HK_RANGES], hi[HK_RANGES], end = INT64_MIN;
    uint32_t n = 0;
    double sum = 0;

    for (uint32_t r = 0; r < reach->n; r++) {
        uint32_t i = n;

        if (reach->lo[r] >= reach->hi[r])
            continue;
        for (; i > 0 && lo[i - 1] > reach->lo[r]; i--) {
            lo[i] = lo[i - 1];
            hi[i] = hi[i - 1];
        }
        lo[i] = reach->lo[r];
        hi[i] = reach->hi[r];
        n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        const int64_t first = lo[i] > end ? lo[i] : end;

        if (hi[i] > first)
            sum += (double)(hi[i] - first);
        end = hi[i] > end ? hi[i] : end;
    }
    return sum;
}

/* Multiply-adds of a row with a key: q.k, the tables that join it, and the weight times v. */
static double pair_products(const struct heed_checked *attn,
                            const struct heed_checked_source *source)
{
    double rows = 1;

    for (uint32_t i = 0; i < source->n_biases; i++) {
        const struct heed_checked_bias *bias = &source->biases[i];

        if (bias->in_score)
            rows += (bias->t.slot != 0) + (bias->u.slot != 0);
    }
    return rows * (double)attn->d + (double)attn->d_v;
}

double heed_spans_row(const struct heed_checked *attn, const struct heed_lowered *lowered,
                      int64_t row)
{
    const struct heed_checked_source *last =
        attn->n_sources ? &attn->sources[attn->n_sources - 1] : NULL;
    int64_t q = attn->q_pos0;
    double sum = 0;

    if (attn->flags & HEED_ATTN_ALIGN_END && last) {
        const int64_t origin =
            last->flags & HEED_SOURCE_END ? last->pos0 - last->n_k * last->pos_step : last->pos0;

        q += origin + (last->n_k - 1) * last->pos_step + last->pos_span - 1 -
             (attn->n_q - 1 - row) * attn->q_pos_step;
    } else {
        q += row * attn->q_pos_step;
    }
    for (uint32_t s = 0; s < lowered->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];

        for (uint32_t i = source->first; i < source->first + source->n; i++) {
            struct hk_sub sub = lowered->subs[i];
            const struct heed_aux *list = lowered->slots[i].list;
            const struct hk_sub_view view = {
                .len = attn->sources[s].n_k,
                .n_list = list ? list->shape[5] : 0,
            };
            const struct hk_row at = { .q = q, .index = row, .all = row < source->rows_first_n };
            struct hk_reach reach;

            for (uint32_t r = 0; r < sub.n_ranges; r++) {
                if (sub.range[r].kind == HK_RANGE_PAIRS)
                    sub.range[r].kind = HK_RANGE_ALL;
            }
            hk_reach_find(&sub, &view, &at, &reach);
            sum += reach_count(&reach) * pair_products(attn, &attn->sources[s]);
        }
    }
    return sum;
}

/* dtype 0, no such array: 0. */
static double array_bytes(uint32_t dtype, const int64_t shape[6], const int64_t stride[6])
{
    double n = (double)heed_dtype_size(dtype) / (double)heed_dtype_elements(dtype);

    for (int i = 0; i < 6; i++)
        n *= stride[i] == 0 && shape[i] > 1 ? 1 : (double)shape[i];
    return n;
}

static double view_bytes(const struct heed_view *view)
{
    return array_bytes(view->dtype, view->shape, view->stride);
}

static double scale_bytes(const struct heed_aux *scale)
{
    return array_bytes(scale->dtype, scale->shape, scale->stride);
}

/* How much of k and v the items can read at most: of pages there may be more than they name. */
static double source_share(const struct heed_checked *attn,
                           const struct heed_checked_source *source)
{
    const struct heed_layout *layout = heed_layout_find(source->layout);
    const double rows = (double)source->k.shape[2] * (double)source->k.shape[4];
    const double read = (double)attn->n_batch * (double)source->n_k;

    return layout->items == HEED_ITEMS_PAGES && read < rows ? read / rows : 1;
}

static uint64_t clip(double x)
{
    return x >= 0x1p63 ? UINT64_MAX / 2 : (uint64_t)x;
}

void heed_spans_work(const struct heed_checked *attn, const struct heed_lowered *lowered,
                     uint64_t *flops, uint64_t *bytes)
{
    const int64_t skip = attn->n_q / ROWS_COUNTED + 1;
    double moved = view_bytes(&attn->q) + view_bytes(&attn->o) + view_bytes(&attn->lse);
    double products = 0;
    int64_t counted = 0;

    for (int64_t row = 0; row < attn->n_q; row += skip, counted++)
        products += heed_spans_row(attn, lowered, row);
    if (counted > 0)
        products *= (double)attn->n_q / (double)counted;
    for (uint32_t s = 0; s < attn->n_sources; s++)
        moved += source_share(attn, &attn->sources[s]) *
                 (view_bytes(&attn->sources[s].k) + view_bytes(&attn->sources[s].v) +
                  scale_bytes(&attn->sources[s].k_scale) +
                  scale_bytes(&attn->sources[s].v_scale));
    products *= (double)attn->n_batch * (double)attn->heads;
    *flops = clip(products * 2);
    *bytes = clip(moved);
}
