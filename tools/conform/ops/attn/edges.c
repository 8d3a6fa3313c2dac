/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of attention where kernels go wrong: kernels work on blocks of 16 to 128 rows and keys,
 * so counts, lengths and window borders are put at multiples of these and at their neighbours.
 */
#include "kinds.h"
#include "conform/engine/cover.h"

/* Where the subset leaves the axis whole; a number between its levels is none of a narrowed one. */
static void edge_set(struct cs *c, int field, int64_t value)
{
    if (cf_field_active(c, field) && cf_subset_has(field, value))
        c->v[field] = value;
}

/* A border that moves with the row: near by, or a block away, on either side. */
static int64_t border(struct rng *r)
{
    return rng_below(r, 2) ? rng_below(r, 6) - 1 : cf_edge(r, 128) - (rng_below(r, 4) ? 0 : 128);
}

static void source_edges(struct rng *r, struct cs *c, int s)
{
    const int at = cf_at_source(s);

    edge_set(c, at + S_NK, rng_below(r, 3) ? cf_g(c, G_NQ) : cf_edge(r, EDGE_MOST));
    if (cf_layout_of(c, s)->fields & (1u << S_PAGE | 1u << S_ROWS)) {
        edge_set(c, at + S_PAGE, cf_edge(r, 64));
        edge_set(c, at + S_ROWS, cf_edge(r, 64));
    }
    if (cf_s(c, s, S_NT) == 0 && rng_below(r, 2)) { /* whose borders are worth looking at */
        edge_set(c, at + S_NT, 1);
        edge_set(c, cf_at_term(s, 0) + T_KIND, HEED_TERM_WINDOW);
    }
    for (int t = 0; t < cf_s(c, s, S_NT); t++) {
        const int term = cf_at_term(s, t);

        if (rng_below(r, 2) && cf_t(c, s, t, T_LEFT) != HEED_FAR)
            edge_set(c, term + T_LEFT, border(r));
        if (rng_below(r, 2) && cf_t(c, s, t, T_RIGHT) != HEED_FAR)
            edge_set(c, term + T_RIGHT, border(r));
    }
}

void cf_attn_edges(struct rng *r, struct cs *c, int64_t limit)
{
    edge_set(c, G_NQ, cf_edge(r, EDGE_MOST));
    for (int s = 0; s < cf_g(c, G_NS); s++)
        source_edges(r, c, s);
    if (cf_case_work(c) > limit)
        edge_set(c, G_BATCH, 1);
    if (cf_case_work(c) > limit)
        edge_set(c, G_H, 1);
    for (int i = G_D; i <= G_DV && cf_case_work(c) > limit; i++)
        edge_set(c, i, 8);
    cf_case_normalize(c);
}
