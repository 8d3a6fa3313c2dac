/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lowered form shows a row what the contract says: over drawn cases, the ranges and visibility
 * words of backends/kernels/spans.h are walked for every row, the keys counted, and the counts
 * compared with the oracle of the conformance kit, which knows the definitions alone. Words are
 * also asked for one block at a time without regard to the reach, as a strip does that walks blocks
 * for other rows.
 */
#include "lib/core/alloc.h"
#include "lib/ops/attn/check.h"
#include "lib/ops/attn/slots.h"
#include "lib/spans.h"

#include "conform/conform.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { SUBS = 32, WORDS = 80, KEYS = 64 * WORDS, WORK = 300000 };

/* What was met, so that nothing is proved in vain. */
static struct {
    int64_t rows, keys, repeated, end, align_end, spans, steps, crossed, below_zero, listed;
    int64_t segment;
} met;

/* A row of one source: everything spans.h wants. */
struct scene {
    const struct problem *p;
    const struct call *call;
    const struct heed_checked *attn;
    const struct heed_checked_source *source;
    const struct heed_lowered *lowered;
    const struct heed_lowered_source *part;
    int64_t at[6]; /* batch coordinates; 3.. unused */
    int64_t head, row_index, key_head;
    int64_t n_keys;
    struct item_view view;
    uint64_t globals[WORDS];
    struct hk_sub_view items[SUBS];
    struct hk_row row;
};

/* Element [0]...[0] of an auxiliary array. */
static const void *base_of(const struct scene *s, const struct heed_aux *aux)
{
    const heed_buf *buf = &s->call->slot_buf[aux->slot - 1];

    if (aux->data || buf->handle == NULL)
        return aux->data;
    return (const char *)buf->handle + buf->offset;
}

static int64_t entry(const struct scene *s, const struct heed_aux *aux, int64_t x, int64_t y,
                     int64_t z)
{
    const int64_t index[6] = { s->at[0], s->at[1], s->at[2], x, y, z };

    return heed_slots_get(aux, base_of(s, aux), index);
}

static const void *address(const struct scene *s, const struct heed_aux *aux, int64_t x, int64_t y,
                           int64_t z, int64_t size)
{
    const char *const base = base_of(s, aux);
    const int64_t *t = aux->stride;

    if (base == NULL)
        return NULL;
    return base +
           (s->at[0] * t[0] + s->at[1] * t[1] + s->at[2] * t[2] + x * t[3] + y * t[4] + z * t[5]) *
               size;
}

/* Entries in use of an ascending list: to the first that makes no sense. */
static int64_t list_used(const struct scene *s, const struct heed_aux *list, int64_t bound)
{
    int64_t n = 0, last = -1;

    for (; n < list->shape[5]; n++) {
        const int64_t value = entry(s, list, 0, 0, n);

        if (value <= last || value >= bound)
            break;
        last = value;
    }
    return n;
}

static int row_named(const struct scene *s)
{
    const struct heed_aux *list = s->part->rows;

    if (s->row_index < s->part->rows_first_n)
        return 1;
    if (list == NULL)
        return 0;
    for (int64_t i = 0, n = list_used(s, list, s->attn->n_q); i < n; i++) {
        if (entry(s, list, 0, 0, i) == s->row_index)
            return 1;
    }
    return 0;
}

static void item_fill(struct scene *s, uint32_t sub)
{
    const struct heed_checked_source *source = s->source;
    const struct heed_sub_slots *slots = &s->lowered->slots[sub];
    struct hk_sub_view *item = &s->items[sub];

    *item = (struct hk_sub_view){ .len = s->n_keys, .globals = s->globals };
    if (slots->list != NULL) {
        const int runs = s->lowered->subs[sub].kind == HK_SUB_GATHER;
        const int64_t x = !runs || slots->list->shape[3] == 1 ? 0
                          : slots->list->shape[3] == s->attn->heads ? s->head
                                                                      : s->key_head;

        item->list = address(s, slots->list, x, runs ? s->row_index / source->rows : 0, 0, 4);
        item->list_stride = slots->list->stride[5];
        item->n_list = runs ? slots->list->shape[5] : list_used(s, slots->list, source->n_k);
    }
    for (uint32_t r = 0; r < s->lowered->subs[sub].n_ranges; r++) {
        if (slots->pairs[r] == NULL)
            continue;
        item->pairs[r] = address(s, slots->pairs[r], 0, 0, 0, 4);
        item->pair_stride[r] = slots->pairs[r]->stride[4];
        item->pair_end[r] = slots->pairs[r]->stride[5];
        met.segment++;
    }
    if (source->mask.slot) {
        const int64_t y = source->mask.shape[4] == 1                  ? 0
                          : source->mask.shape[4] == s->attn->heads ? s->head
                                                                      : s->key_head;

        item->mask = address(s, &source->mask, 0, y, 0, 1);
        item->mask_stride = source->mask.stride[5];
    }
}

static void scene_set(struct scene *s, uint32_t source)
{
    const struct heed_checked *attn = s->attn;

    s->source = &attn->sources[source];
    s->part = &s->lowered->sources[source];
    s->key_head = s->head / (attn->heads / s->source->heads);
    s->n_keys = s->view.k_n[source];
    memset(s->globals, 0, sizeof(s->globals));
    if (s->part->keys != NULL) {
        const int64_t n = list_used(s, s->part->keys, s->source->n_k);

        for (int64_t i = 0; i < n; i++) {
            const int64_t key = entry(s, s->part->keys, 0, 0, i);

            s->globals[key >> 6] |= UINT64_C(1) << (key & 63);
        }
    }
    s->row = (struct hk_row){ .q = cf_query_position(s->p, &s->view, s->row_index),
                              .index = s->row_index,
                              .head = s->head,
                              .all = row_named(s) };
    for (uint32_t i = s->part->first; i < s->part->first + s->part->n; i++)
        item_fill(s, i);
}

static void wrong(const struct scene *s, const char *what)
{
    char line[LINE];

    cf_case_print(&s->p->c, line);
    ck_abort_msg("%s: item %d head %d row %d: %s", line, (int)s->view.b, (int)s->head,
                 (int)s->row_index, what);
}

/* Counts the keys of one sub-source, block by block. No ck_assert in here: Check writes to a file
 * whenever one holds. */
static void sub_count(const struct scene *s, uint32_t sub, int64_t count[KEYS])
{
    const struct hk_sub *k = &s->lowered->subs[sub];
    const struct hk_sub_view *item = &s->items[sub];
    struct hk_reach reach;
    int64_t most = 0;

    hk_reach_find(k, item, &s->row, &reach);
    ck_assert_uint_le(reach.n, HK_RANGES);
    for (uint32_t r = 0; r < reach.n; r++) {
        if (reach.lo[r] < 0 && reach.lo[r] < reach.hi[r])
            wrong(s, "a range begins before 0");
        most = reach.hi[r] > most ? reach.hi[r] : most;
    }
    for (int64_t block = 0; block * 64 < most; block++) {
        const uint64_t available = hk_block_mask(k, item, &reach, block);
        const uint64_t word = hk_row_mask(k, item, &s->row, &reach, block, available);

        if (word & ~available)
            wrong(s, "seen but not available");
        for (int i = 0; i < 64; i++) {
            int64_t key;

            if (!(word >> i & 1))
                continue;
            key = hk_key(k, item, &reach, block * 64 + i);
            if (key < 0 || key >= s->n_keys)
                wrong(s, "a key that is not there");
            /* which pages are there is no matter of the lowered form */
            count[key] += cf_key_there(s->p, &s->view, (int)(s->source - s->attn->sources), key);
        }
    }
}

static void row_compare(struct scene *s, uint32_t source)
{
    static int64_t count[KEYS];

    scene_set(s, source);
    memset(count, 0, sizeof(count));
    if (s->row_index < s->view.q_n) {
        for (uint32_t i = s->part->first; i < s->part->first + s->part->n; i++)
            sub_count(s, i, count);
    }
    for (int64_t k = 0; k < s->source->n_k; k++) {
        const int64_t want = cf_times_seen(s->p, &s->view, s->head, s->row_index, (int)source, k);

        if (count[k] != want)
            wrong(s, "words and definition differ");
        met.keys += want > 0;
        met.repeated += want > 1;
    }
    met.rows++;
    met.below_zero += s->row.q < 0;
    met.listed += s->source->layout == HEED_LAYOUT_LISTED;
}

static void met_source(const struct heed_checked *attn, const struct heed_checked_source *source)
{
    met.end += (source->flags & HEED_SOURCE_END) != 0;
    met.align_end += (attn->flags & HEED_ATTN_ALIGN_END) != 0;
    met.spans += source->pos_span > 1 && source->pos_step > 1;
    for (uint32_t t = 0; t < source->n_terms; t++) {
        const struct heed_checked_term *term = &source->terms[t];

        met.steps += term->step > 1 && term->phase < 0 && term->flags != 0;
        met.crossed += term->kind == HEED_TERM_WINDOW && term->left != HEED_FAR &&
                       term->right != HEED_FAR && term->left + term->right + term->block <= 0;
    }
}

static void item_compare(struct scene *s, int64_t item)
{
    heed_slots_item(s->attn, item, s->at);
    cf_item_view(s->p, item, &s->view);
    for (int64_t i = 0; i < s->attn->heads * s->attn->n_q; i++) {
        s->head = i / s->attn->n_q;
        s->row_index = i % s->attn->n_q;
        for (uint32_t source = 0; source < s->attn->n_sources; source++)
            row_compare(s, source);
    }
}

/* Ranges that cross are rare among drawn ones. */
static void cross(struct cs *c)
{
    for (int s = 0; s < cf_g(c, G_NS); s++) {
        for (int t = 0; t < cf_s(c, s, S_NT); t++) {
            if (cf_t(c, s, t, T_KIND) != HEED_TERM_WINDOW)
                continue;
            c->v[cf_at_term(s, t) + T_LEFT] = -3;
            c->v[cf_at_term(s, t) + T_RIGHT] = -2;
        }
    }
}

static void draw_compare(struct rng *r, const struct target *on, int64_t dense)
{
    struct scene scene = { 0 };
    struct heed_arena arena;
    struct problem *p;
    struct call call;
    struct cs c;

    cf_case_draw(r, on->device, dense, WORK, &c);
    if (rng_below(r, 10) == 0)
        cross(&c);
    p = cf_problem_make(&c, NULL, 0, true);
    ck_assert(p != NULL && cf_call_make(&call, on, p, 0, 1));
    heed_arena_init(&arena, NULL);
    scene.p = p;
    scene.call = &call;
    ck_assert_int_eq(heed_check_attn(&call.desc, &arena, &scene.attn, NULL), HEED_OK);
    ck_assert_int_eq(heed_spans_build(scene.attn, &arena, &scene.lowered, NULL), HEED_OK);
    ck_assert_uint_le(scene.lowered->n_subs, SUBS);
    for (uint32_t s = 0; s < scene.attn->n_sources; s++) {
        ck_assert_int_le(scene.attn->sources[s].n_k, KEYS);
        met_source(scene.attn, &scene.attn->sources[s]);
    }
    for (int64_t item = 0; item < scene.attn->n_batch; item++)
        item_compare(&scene, item);
    heed_arena_finish(&arena);
    cf_call_finish(&call);
    cf_problem_free(p);
}

LOOP_TEST(words_show_what_the_definition_says, 4)
{
    struct rng r = rng_of((uint64_t)_i + 1);
    struct target on;

    cf_axes_init();
    ck_assert(cf_target_open(&on, "reference", 1, NULL));
    for (int i = 0; i < 6000; i++)
        draw_compare(&r, &on, 25 + i % 3 * 25);
    cf_target_close(&on);
    ck_assert_int_gt(met.rows, 10000);
    ck_assert_int_gt(met.keys, 100000);
    ck_assert_int_gt(met.repeated, 1000);
    ck_assert_int_gt(met.end, 100);
    ck_assert_int_gt(met.align_end, 100);
    ck_assert_int_gt(met.spans, 20);
    ck_assert_int_gt(met.steps, 20);
    ck_assert_int_gt(met.crossed, 10);
    ck_assert_int_gt(met.below_zero, 1000);
    ck_assert_int_gt(met.listed, 1000);
    ck_assert_int_gt(met.segment, 1000);
}

int main(void)
{
    return suite_run("lowering", 240, NULL, NULL);
}
