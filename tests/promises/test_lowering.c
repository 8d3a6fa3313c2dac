/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lowered form shows a row what the contract says: over random attentions, the ranges and
 * visibility words of backends/kernels/spans.h are walked for every row, the keys counted, and the
 * counts compared with heed_visible_row(), which is what heed_attn_visible() answers and which
 * knows nothing of the lowered form. Words are also asked for one block at a time without regard to
 * the reach, as a strip does that walks blocks for other rows.
 */
#include "lib/core/alloc.h"
#include "lib/ops/attn/slots.h"
#include "lib/spans.h"
#include "lib/ops/attn/visible.h"
#include "support/draw.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { SUBS = 32, WORDS = 8, KEYS = 64 * WORDS };

/* What was met, so that nothing is proved in vain. */
static struct {
    int64_t rows, keys, repeated, end, align_end, spans, steps, crossed, below_zero, listed;
    int64_t segment, refused;
} met;

/* A row of one source: everything spans.h wants. */
struct scene {
    const struct draw *d;
    const struct heed_checked_source *source;
    const struct heed_lowered *lowered;
    const struct heed_lowered_source *part;
    int64_t at[6]; /* batch coordinates; 3.. unused */
    int64_t head, row_index, key_head;
    int64_t n_rows, n_keys;
    uint64_t listed[WORDS];
    struct hk_item items[SUBS];
    struct hk_row row;
};

static int64_t entry(const struct scene *s, const struct heed_aux *aux, int64_t x, int64_t y,
                     int64_t z)
{
    const int64_t index[6] = { s->at[0], s->at[1], s->at[2], x, y, z };

    return heed_slots_get(aux, heed_slots_base(aux, s->d->slots), index);
}

static const void *address(const struct scene *s, const struct heed_aux *aux, int64_t x, int64_t y,
                           int64_t z, int64_t size)
{
    const int64_t *t = aux->stride;

    return (const char *)heed_slots_base(aux, s->d->slots) +
           (s->at[0] * t[0] + s->at[1] * t[1] + s->at[2] * t[2] + x * t[3] + y * t[4] + z * t[5]) *
               size;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static int64_t item_length(const struct scene *s, const struct heed_aux *begin,
                           const struct heed_aux *len, int64_t bound, int64_t total)
{
    int64_t n = len->slot ? clamp(entry(s, len, 0, 0, 0), 0, bound) : bound;

    if (begin != NULL) {
        const int64_t from = entry(s, begin, 0, 0, 0);

        if (from < 0 || from > total)
            return 0;
        n = n > total - from ? total - from : n;
    }
    return n;
}

static int64_t keys_of(const struct scene *s, const struct heed_checked_source *source)
{
    return item_length(s, source->layout == HEED_LAYOUT_RAGGED ? &source->index : NULL,
                       &source->len, source->n_k, source->k.shape[4]);
}

static int64_t position(const struct scene *s)
{
    const struct heed_checked *attn = &s->d->attn;
    int64_t q = attn->q_pos0 + s->row_index * attn->q_pos_step;

    if (attn->flags & HEED_ATTN_ALIGN_END) {
        const struct heed_checked_source *last = &attn->sources[attn->n_sources - 1];
        const int64_t n = keys_of(s, last);
        const int64_t newest = last->pos0 + (last->flags & HEED_SOURCE_END ? -1 : n - 1) *
                                                last->pos_step;

        q += newest + last->pos_span - 1 - (s->n_rows - 1) * attn->q_pos_step;
    }
    if (attn->q_pos.slot)
        q += entry(s, &attn->q_pos, 0, 0, 0);
    return q;
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

    if (s->row_index < s->part->rows_prefix)
        return 1;
    if (list == NULL)
        return 0;
    for (int64_t i = 0, n = list_used(s, list, s->d->attn.n_q); i < n; i++) {
        if (entry(s, list, 0, 0, i) == s->row_index)
            return 1;
    }
    return 0;
}

static void item_fill(struct scene *s, uint32_t sub)
{
    const struct heed_checked_source *source = s->source;
    const struct heed_sub_slots *slots = &s->lowered->slots[sub];
    struct hk_item *item = &s->items[sub];

    *item = (struct hk_item){ .len = s->n_keys, .listed = s->listed };
    if (slots->list != NULL) {
        const int runs = s->lowered->subs[sub].kind == HK_SUB_RUNS;
        const int64_t x = !runs || slots->list->shape[3] == 1 ? 0
                          : slots->list->shape[3] == s->d->attn.heads ? s->head
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
                          : source->mask.shape[4] == s->d->attn.heads ? s->head
                                                                      : s->key_head;

        item->mask = address(s, &source->mask, 0, y, 0, 1);
        item->mask_stride = source->mask.stride[5];
    }
}

static void scene_set(struct scene *s, uint32_t source)
{
    const struct heed_checked *attn = &s->d->attn;

    s->source = &attn->sources[source];
    s->part = &s->lowered->sources[source];
    s->key_head = s->head / (attn->heads / s->source->heads);
    s->n_keys = keys_of(s, s->source);
    memset(s->listed, 0, sizeof(s->listed));
    if (s->part->keys != NULL) {
        const int64_t n = list_used(s, s->part->keys, s->source->n_k);

        for (int64_t i = 0; i < n; i++) {
            const int64_t key = entry(s, s->part->keys, 0, 0, i);

            s->listed[key >> 6] |= UINT64_C(1) << (key & 63);
        }
    }
    s->row = (struct hk_row){ .q = position(s), .index = s->row_index, .head = s->head,
                              .all = row_named(s) };
    for (uint32_t i = s->part->first; i < s->part->first + s->part->n; i++)
        item_fill(s, i);
}

/* Counts the keys of one sub-source, block by block. No ck_assert in here: Check writes to a file
 * whenever one holds. */
static void sub_count(const struct scene *s, uint32_t sub, int64_t count[KEYS])
{
    const struct hk_sub *k = &s->lowered->subs[sub];
    const struct hk_item *item = &s->items[sub];
    struct hk_reach reach;
    int64_t most = 0;

    hk_reach_find(k, item, &s->row, &reach);
    ck_assert_uint_le(reach.n, HK_RANGES);
    for (uint32_t r = 0; r < reach.n; r++) {
        if (reach.lo[r] < 0 && reach.lo[r] < reach.hi[r])
            ck_abort_msg("seed %d: a range begins before 0", (int)s->d->seed);
        most = reach.hi[r] > most ? reach.hi[r] : most;
    }
    for (int64_t block = 0; block * 64 < most; block++) {
        const uint64_t available = hk_block_word(k, item, &reach, block);
        const uint64_t word = hk_row_word(k, item, &s->row, &reach, block, available);

        if (word & ~available)
            ck_abort_msg("seed %d: seen but not available", (int)s->d->seed);
        for (int i = 0; i < 64; i++) {
            int64_t key;

            if (!(word >> i & 1))
                continue;
            key = hk_key(k, item, &reach, block * 64 + i);
            if (key < 0 || key >= s->n_keys)
                ck_abort_msg("seed %d: key %lld", (int)s->d->seed, (long long)key);
            count[key]++;
        }
    }
}

static void row_compare(struct scene *s, uint32_t source, int64_t item)
{
    static uint8_t seen[KEYS];
    int64_t count[KEYS] = { 0 };

    scene_set(s, source);
    ck_assert_int_eq(heed_visible_row(&s->d->attn, s->d->slots, item, s->head, s->row_index,
                                      source, seen, NULL),
                     HEED_OK);
    if (s->row_index < s->n_rows) {
        for (uint32_t i = s->part->first; i < s->part->first + s->part->n; i++)
            sub_count(s, i, count);
    }
    for (int64_t k = 0; k < s->source->n_k; k++) {
        if ((count[k] > 255 ? 255 : count[k]) != seen[k])
            ck_abort_msg("seed %d item %d head %d row %d source %d key %d: words %d, visible %d",
                         (int)s->d->seed, (int)item, (int)s->head, (int)s->row_index, (int)source,
                         (int)k, (int)count[k], (int)seen[k]);
        met.keys += count[k] > 0;
        met.repeated += count[k] > 1;
    }
    met.rows++;
    met.below_zero += s->row.q < 0;
    met.listed += s->source->layout == HEED_LAYOUT_LISTED;
}

static void met_source(const struct draw *d, const struct heed_checked_source *source)
{
    met.end += (source->flags & HEED_SOURCE_END) != 0;
    met.align_end += (d->attn.flags & HEED_ATTN_ALIGN_END) != 0;
    met.spans += source->pos_span > 1 && source->pos_step > 1;
    for (uint32_t t = 0; t < source->n_terms; t++) {
        const struct heed_checked_term *term = &source->terms[t];

        met.steps += term->step > 1 && term->phase < 0 && term->flags != 0;
        met.crossed += term->kind == HEED_TERM_WINDOW && term->left != HEED_FAR &&
                       term->right != HEED_FAR && term->left + term->right + term->block <= 0;
    }
}

/* PHASE_QUERY steps of a descriptor must be equal, which the draw does not know. */
static void steps_align(struct draw *d)
{
    for (uint32_t s = 0; s < d->attn.n_sources; s++) {
        for (uint32_t t = 0; t < d->sources[s].n_terms; t++) {
            struct heed_checked_term *term = &d->terms[s][t];

            if ((term->flags & HEED_TERM_PHASE_QUERY) && term->step > 1 && d->seed % 2)
                term->step = 3;
        }
    }
}

static void draw_compare(uint64_t seed, int64_t n_k)
{
    const struct draw_limits limits = { .n_q = 12, .n_k = n_k, .d = 1, .d_v = 1, .plain = 1 };
    const struct heed_lowered *lowered = NULL;
    struct scene scene = { 0 };
    struct heed_arena arena;
    struct draw d;
    heed_status status;

    draw_start(&d, seed, &limits);
    steps_align(&d);
    heed_arena_init(&arena, NULL);
    status = heed_spans_build(&d.attn, &arena, &lowered, NULL);
    if (status == HEED_E_UNSUPPORTED) { /* more than four ranges */
        met.refused++;
        goto finish;
    }
    ck_assert_int_eq(status, HEED_OK);
    ck_assert_uint_le(lowered->n_subs, SUBS);
    scene.d = &d;
    scene.lowered = lowered;
    for (uint32_t s = 0; s < d.attn.n_sources; s++)
        met_source(&d, &d.sources[s]);
    for (int64_t item = 0; item < d.attn.n_batch; item++) {
        heed_slots_item(&d.attn, item, scene.at);
        scene.n_rows = item_length(&scene, d.attn.q_begin.slot ? &d.attn.q_begin : NULL,
                                   &d.attn.q_len, d.attn.n_q, d.attn.q.shape[4]);
        for (int64_t i = 0; i < d.attn.heads * d.attn.n_q; i++) {
            scene.head = i / d.attn.n_q;
            scene.row_index = i % d.attn.n_q;
            for (uint32_t s = 0; s < d.attn.n_sources; s++)
                row_compare(&scene, s, item);
        }
    }
finish:
    heed_arena_finish(&arena);
    draw_finish(&d);
}

START_TEST(words_show_what_visible_says)
{
    for (uint64_t seed = 1; seed <= 1500; seed++)
        draw_compare(seed * 4 + (uint64_t)_i, seed % 3 ? 40 : 200);
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
    ck_assert_int_lt(met.refused, 250);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lowering");
    TCase *tcase = tcase_create("words");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, words_show_what_visible_says, 0, 4);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
