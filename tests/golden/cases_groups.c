/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of keys and values whose scales lie apart by groups of channels, with minima or
 * without.
 */
#include "build.h"

/* K and V of other types, and how many channels share a scale of each. */
struct groups {
    uint32_t k, v, flags;
    int64_t k_group, v_group;
};

/* [axes..][channels / group], with minima twice as many. */
static uint32_t scales(struct golden *g, uint32_t dtype, const int64_t axes[3], int64_t entries)
{
    return golden_slot_scales(g, dtype, 4, (const int64_t[]){ axes[0], axes[1], axes[2], entries });
}

static void grouped(struct golden *g, const struct groups *of, const int64_t axes[3])
{
    heed_source *source = &g->sources[0];
    const int64_t d = g->desc.q.shape[3], d_v = g->desc.o.shape[3];
    const int64_t per_k = of->flags & HEED_SOURCE_K_MINIMA ? 2 : 1;
    const int64_t per_v = of->flags & HEED_SOURCE_V_MINIMA ? 2 : 1;

    golden_source(g, of->k, axes[0], axes[1], axes[2]);
    source->v = golden_tensor(of->v, 4, (const int64_t[]){ axes[0], axes[1], axes[2], d_v });
    g->kv[0].v.handle = golden_floats(g, of->v, axes[0] * axes[1] * axes[2] * d_v, 0);
    source->flags = of->flags;
    source->k_scale_slot = scales(g, HEED_F16, axes, per_k * (d / of->k_group));
    source->v_scale_slot = scales(g, HEED_F32, axes, per_v * (d_v / of->v_group));
}

/* Over a border of chunks, and beside a source of f16. */
void golden_case_i4(struct golden *g)
{
    static const struct groups of = { HEED_I4, HEED_I4, HEED_SOURCE_K_GROUPS | HEED_SOURCE_V_GROUPS,
                                      32, 64 };

    golden_query(g, HEED_F32, 1, 4, 5, 96, 192);
    grouped(g, &of, (const int64_t[]){ 1, 2, 1100 });
    golden_source(g, HEED_F16, 1, 2, 40);
}

/* A bias in the score widens K. */
void golden_case_i4_minima(struct golden *g)
{
    static const struct groups of = { HEED_I4, HEED_I4, HEED_SOURCE_K_MINIMA | HEED_SOURCE_V_MINIMA,
                                      64, 32 };
    const int64_t table[] = { 1, 9, 128 };

    golden_query(g, HEED_F32, 1, 4, 20, 128, 96);
    grouped(g, &of, (const int64_t[]){ 1, 1, 1100 });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DOT,
                             .zero = 4,
                             .u = golden_slot_floats(g, HEED_F32, 3, table, -2) });
}

/* Bytes, and numbers of a byte with one group of all channels, in pages. */
void golden_case_groups_paged(struct golden *g)
{
    static const struct groups of = { HEED_I8, HEED_F8E4M3,
                                      HEED_SOURCE_K_GROUPS | HEED_SOURCE_K_MINIMA |
                                          HEED_SOURCE_V_MINIMA,
                                      32, 17 };
    const int64_t shape[] = { 3, 9 }, sizes[] = { 140, 0, 100 };
    const int32_t table[] = { 4, 0, -1, 2, 2, 6, 5, 1,  3, 5,   4, 3, 2, 1,
                              0, 6, 5,  4, 0, 4, 1, -7, 3, 100, 5, 6, -1 };

    golden_query(g, HEED_F32, 3, 4, 10, 64, 17);
    grouped(g, &of, (const int64_t[]){ 7, 2, 16 });
    g->sources[0].layout = HEED_LAYOUT_PAGED;
    g->sources[0].len_slot = golden_slot_i64(g, 3, sizes);
    g->sources[0].slot = golden_slot_i32(g, 2, shape, table);
    g->sources[0].flags |= HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
}
