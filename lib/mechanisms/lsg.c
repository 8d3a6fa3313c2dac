/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG: local, sparse and global keys (Condevaux and Harispe 2022, sections 3.1 to 3.3), with the
 * two kinds of sparse keys that are chosen by place: strides and block strides by head.
 */
#include "build.h"

#include "../core/error.h"

enum { DESC_V1 = 1128 };
_Static_assert(sizeof(heed_lsg_desc) == DESC_V1, "heed_lsg_desc may only grow");

/* BLOCK_STRIDE: runs of `run` tokens; each head takes one run of a block. */
struct runs {
    int64_t n, heads, blocks, factor, run;
    int64_t side, sides;        /* blocks that a list has on each side; how many sides */
};

/* Is `whole` a multiple of `part`? The field is one of the two, `wanted` the other. */
static heed_status divides(const struct heed_builder *b, const char *field, int64_t wanted,
                           int64_t got, int64_t part, int64_t whole)
{
    if (whole % part == 0)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_VALUE, field, wanted, got,
                            "%lld does not divide %lld", (long long)part, (long long)whole);
}

static heed_status parameters(const struct heed_builder *b, heed_lsg_desc *d)
{
    int64_t run;
    heed_status status = heed_builder_within(b, "sparsity", d->sparsity, 0, HEED_LSG_BLOCK_STRIDE);

    if (status >= 0)
        status = heed_builder_within(b, "reserved", d->reserved, 0, 0);
    if (status >= 0)
        status = heed_builder_range(b, "block", &d->block, 128, INT32_MAX);
    if (status >= 0)
        status = heed_builder_range(b, "factor", &d->factor, 2, d->block);
    if (status >= 0)
        status = heed_builder_range(b, "sparse_block", &d->sparse_block, d->block, 1 << 28);
    if (status >= 0)
        status = divides(b, "factor", d->block, d->factor, d->factor, d->block);
    if (status < 0 || d->sparsity != HEED_LSG_BLOCK_STRIDE)
        return status;
    run = d->block / d->factor;
    return divides(b, "sparse_block", run, d->sparse_block, run, d->sparse_block);
}

static heed_status list_fits(const struct heed_builder *b, const heed_lsg_desc *d,
                             const struct runs *r)
{
    const int64_t row = r->side * r->sides;
    const int64_t most = INT64_MAX / (row > 0 ? row : 1) / (r->blocks > 0 ? r->blocks : 1);

    if (d->sparsity != HEED_LSG_BLOCK_STRIDE) {
        if (d->list)
            return heed_report_fill(b->report, HEED_E_VALUE, "list", 0, 1,
                                    "only block strides take a list");
        return heed_builder_within(b, "list_room", d->list_room, 0, 0);
    }
    if (!d->list)
        return heed_report_fill(b->report, HEED_E_NULL, "list", 0, 0, "there is no list to fill");
    if (r->heads <= most && d->list_room >= r->heads * r->blocks * row)
        return HEED_OK;
    return heed_report_fill(b->report, HEED_E_VALUE, "list_room",
                            r->heads <= most ? r->heads * r->blocks * row : INT64_MAX,
                            d->list_room, "the list is too short");
}

/* Of each head and query block: the runs of the blocks before its left neighbour, and of those
 * after its right one. */
static void list_fill(const struct runs *r, int32_t *list)
{
    for (int64_t h = 0; h < r->heads; h++) {
        for (int64_t block = 0; block < r->blocks; block++) {
            for (int64_t x = 0; x < r->sides * r->side; x++) {
                const int64_t from = x < r->side ? block - 1 - r->side + x
                                                 : block + 2 + x - r->side;
                const int64_t run = from * r->factor + h % r->factor;

                *list++ = from >= 0 && run * r->run < r->n ? (int32_t)run : -1;
            }
        }
    }
}

static void list_add(struct heed_builder *b, const heed_lsg_desc *d, const struct runs *r)
{
    const int64_t row = r->sides * r->side;
    const heed_slot slot = {
        .t = { .dtype = HEED_I32,
               .ndim = 3,
               .shape = { r->heads, r->blocks, row },
               .stride = { r->blocks * row, row, 1 } },
        .data = d->list,
    };
    heed_source *source = heed_builder_source(b, &d->text, 0);

    source->layout = HEED_LAYOUT_LISTED;
    source->slot = heed_builder_slot(b, HEED_MECHANISM_LIST, &slot);
    source->run = (int32_t)r->run;
    source->rows = (int32_t)d->block;
}

/* Tokens j before block B - 1 and after block B + 1, as far as the sparse keys reach. */
static void strides_add(struct heed_builder *b, const heed_lsg_desc *d)
{
    const int64_t far = d->block + d->sparse_block * d->factor, near = -2 * d->block;
    const heed_term left = {
        .kind = HEED_TERM_WINDOW,
        .flags = d->factor > 1 ? HEED_TERM_PHASE_HEAD : 0,
        .left = far,
        .right = near,
        .step = d->factor,
        .block = (int32_t)d->block,
    };
    heed_term right = left;

    right.left = near;
    right.right = far;
    *heed_builder_term(b) = left;
    if (!(d->flags & HEED_LSG_CAUSAL))
        *heed_builder_term(b) = right;
}

heed_status heed_lsg(const heed_lsg_desc *given, heed_mechanism *out, heed_report *report)
{
    struct heed_builder b;
    heed_lsg_desc d;
    struct runs r = { .heads = 1 };
    bool causal;
    heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), HEED_LSG_CAUSAL, out,
                                           report);

    if (status >= 0)
        status = heed_builder_self(&b, &d.q, &d.o, &d.text, &r.n);
    if (status >= 0)
        status = heed_builder_within(&b, "text.k", r.n, 0, INT32_MAX);
    if (status >= 0 && d.globals.k.ndim)
        status = heed_builder_keys(&b, "globals", &d.globals, &r.side);
    if (status >= 0)
        status = parameters(&b, &d);
    if (status >= 0 && d.q.ndim > 2)
        status = heed_builder_extent(&b, "q", &d.q, 3, &r.heads);
    if (status < 0)
        return status;
    causal = d.flags & HEED_LSG_CAUSAL;
    r.blocks = r.n / d.block + (r.n % d.block != 0);
    r.factor = d.factor;
    r.run = d.block / d.factor;
    r.side = d.sparse_block / r.run;
    r.sides = causal ? 1 : 2;
    status = list_fits(&b, &d, &r);
    if (status < 0)
        return status;
    if (d.globals.k.ndim)
        heed_builder_source(&b, &d.globals, 1);
    if (d.sparsity == HEED_LSG_BLOCK_STRIDE) {
        list_fill(&r, d.list);
        list_add(&b, &d, &r);
    }
    heed_builder_source(&b, &d.text, 0)->flags = causal ? HEED_SOURCE_CAUSAL : 0;
    *heed_builder_term(&b) = (heed_term){
        .kind = HEED_TERM_WINDOW,
        .left = d.block,
        .right = causal ? 0 : d.block,
        .block = (int32_t)d.block,
    };
    if (d.sparsity == HEED_LSG_STRIDE)
        strides_add(&b, &d);
    return heed_builder_finish(&b, out);
}
