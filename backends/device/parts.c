/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a plan's strips are cut by keys, at the borders of chunks, and into how many parts.
 */
#include "../kernels/attn/strips.h"
#include "../kernels/attn/worker.h"
#include "blob.h"
#include "tune.h"


double heed_blob_chunks(const struct heed_plan *plan, uint32_t sub)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);
    double chunks = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];

        for (uint32_t i = source->first; i < source->first + source->n && i < sub; i++) {
            const struct heed_aux *list = lowered->slots[i].list;

            chunks += (double)hk_chunks_of(&lowered->subs[i], list ? list->shape[5] : 0,
                                           heed_attn_of(plan)->sources[s].n_k);
        }
    }
    return chunks;
}

/* Of a chunk of the strips of attend_few.cl (few_group.h), whatever d_v is. */
static double few_bytes(int64_t d_v)
{
    return HK_PART_ROWS * ((double)sizeof(struct hk_kept) +
                           (double)sizeof(float) * (HK_PARTIALS + (double)d_v));
}

static bool may_have_scales(const struct heed_checked *attn)
{
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];

        if (!HK_IS_NUMBER(source->k.dtype) || !HK_IS_NUMBER(source->v.dtype) ||
            source->k_scale.slot != 0 || source->v_scale.slot != 0)
            return true;
    }
    return false;
}

/* Where rows that share keys, one item's, are few: a strip or two, or more of them if strips of
 * work-groups for many rows would leave units idle. With scales and many buffers the kernel wants
 * more local memory than some devices have (HK_MUCH_LOCAL). */
bool heed_group_few(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    const struct heed_checked *attn = plan->checked;
    const struct heed_lowered *lowered = heed_lowered_of(plan);
    const int64_t stack =
        lowered->stack > HK_PART_ROWS ? hk_gcd(lowered->stack, HK_PART_ROWS) : lowered->stack;
    const double rows = (double)lowered->stack * (double)attn->n_q;
    const double many = (double)attn->n_batch * (double)attn->heads / (double)lowered->stack;
    const double strips =
        (double)attn->n_batch * (double)attn->heads / (double)stack * (double)attn->n_q;
    const double cut = heed_blob_chunks(plan, lowered->n_subs), chunks = cut > 1 ? cut : 1;

    if (traits->shape != HEED_SHAPE_WORKGROUP || lowered->row_step > 1)
        return false;
    if (traits->group_rows < 64 && heed_plan_large(plan, traits) && may_have_scales(attn))
        return false;
    /* Also where there are no rows: a part has to be one that can be counted. */
    if ((strips > 1 ? strips : 1) * chunks * few_bytes(attn->d_v) > HEED_TUNE_GROUP_CHUNKS_BYTES)
        return false;
    return rows <= HEED_TUNE_FEW_ROWS ||
           (rows <= HEED_TUNE_FEW_ROWS_MOST && many < HEED_TUNE_FEW_STRIPS);
}

/* Which items' rows a group takes together, of which chunks: those of sources that follow each
 * other and are the same for all items. DOT biases and lists of rows ask for an item's own rows. */
static void together_find(const struct heed_plan *plan, struct hk_plan *to)
{
    const struct heed_checked *attn = plan->checked;
    const struct heed_lowered *lowered = heed_lowered_of(plan);
    double first = 0, end = 0, most = 0;
    bool may = !lowered->q_packed && lowered->group == 0 && to->batch_strips == 1 &&
               2 * hk_part_rows(to) <= HK_PART_ROWS && hk_part_rows(to) > 0;

    to->together = 1;
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];
        const double behind = heed_blob_chunks(plan, source->first + source->n);

        may = may && source->rows == NULL;
        for (uint32_t i = 0; i < attn->sources[s].n_biases; i++)
            may = may && !attn->sources[s].biases[i].in_score;
        if (!source->common || s == 0 || !lowered->sources[s - 1].common)
            first = heed_blob_chunks(plan, source->first);
        end = source->common ? behind : first;
        if (end - first > most) {
            most = end - first;
            to->common_first = (int64_t)first;
            to->common_end = (int64_t)end;
        }
    }
    if (may && most > 0)
        to->together = hk_max(hk_min(HK_PART_ROWS / hk_part_rows(to), attn->n_batch), 1);
}

/* Work-groups for few rows: as many parts as there are chunks, as long as that is not many
 * groups. */
static void few_parts_find(const struct heed_plan *plan, struct hk_plan *to, struct heed_room *w)
{
    const double chunks = heed_blob_chunks(plan, heed_lowered_of(plan)->n_subs);
    const double groups = (double)to->tasks * (double)to->passes * chunks;

    to->chunk_bytes = (int64_t)few_bytes(to->d_v);
    to->chunks = (int64_t)chunks;
    to->part_chunks = hk_max((int64_t)(groups / HEED_TUNE_GROUP_PARTS), 1);
    to->parts = hk_max(hk_parts(to->chunks, to->part_chunks), 1);
    to->chunks_at = heed_room_place(w, (double)to->tasks * chunks, (uint64_t)to->chunk_bytes);
    together_find(plan, to);
}

/* Lanes: few strips that read their keys once are cut into parts, which balances ragged lengths,
 * too. */
static void lanes_parts_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                             struct hk_plan *to, struct heed_room *w)
{
    const double chunks = heed_blob_chunks(plan, heed_lowered_of(plan)->n_subs);
    const double wanted = (double)traits->workers * HEED_TUNE_PARTS;
    const double strips = (double)to->tasks;
    struct hk_chunk_layout chunk;

    to->parts = 1;
    if (traits->shape != HEED_SHAPE_LANES || traits->workers == 1 || to->tasks == 0 ||
        strips >= wanted || chunks < 2 || to->n_q > to->strips.rows || to->strips.row_step > 1)
        return;
    hk_chunk_find(to, &chunk);
    if (strips * chunks * (double)chunk.bytes > HEED_TUNE_CHUNKS_BYTES)
        return;
    to->part_chunks =
        hk_max(hk_min((int64_t)(strips * chunks / wanted), HEED_TUNE_PART_CHUNKS), 1);
    to->chunks = (int64_t)chunks;
    to->parts = hk_parts(to->chunks, to->part_chunks);
    to->chunk_bytes = chunk.bytes;
    to->chunks_at = heed_room_place(w, strips * chunks, (uint64_t)chunk.bytes);
}

/* ---- work-groups for many rows ---- */

/* Multiply-adds of a row of the strip: those of the longer one of its first and its last. */
static double strip_length(const struct heed_plan *plan, const struct hk_plan *to, int64_t strip)
{
    struct hk_strip_rows rows;
    double first, last;

    hk_strips_rows(to->strips.rows, to->strips.row_step, to->strips.group, to->n_q, strip, &rows);
    first = heed_spans_row(heed_attn_of(plan), heed_lowered_of(plan), rows.first);
    last = heed_spans_row(heed_attn_of(plan), heed_lowered_of(plan),
                          rows.first + rows.step * hk_max(rows.count - 1, 0));
    return first > last ? first : last;
}

/* Which strips of an item, at both of its ends, are far longer than others, as with GLOBAL rows. */
static void ends_find(const struct heed_plan *plan, struct hk_plan *to)
{
    const int64_t strips = to->batch_strips;
    const int64_t step = hk_parts(strips, HEED_TUNE_CUT_SAMPLES);
    double mean = 0;

    for (int64_t i = step / 2; i < strips; i += step)
        mean += strip_length(plan, to, i) / (double)hk_parts(strips - step / 2, step);
    while (to->cut_first < strips &&
           strip_length(plan, to, to->cut_first) > HEED_TUNE_CUT_RATIO * mean)
        to->cut_first++;
    while (to->cut_first + to->cut_last < strips &&
           strip_length(plan, to, strips - 1 - to->cut_last) > HEED_TUNE_CUT_RATIO * mean)
        to->cut_last++;
}

/* Strips that are far longer than the others are cut by keys: a group would walk alone when all
 * others are done. */
static void cuts_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                      struct hk_plan *to, struct heed_room *w)
{
    const double chunks = heed_blob_chunks(plan, heed_lowered_of(plan)->n_subs);
    const double tasks = (double)HK_CUT_TASKS(traits->group_rows);
    double cut;

    if (traits->shape != HEED_SHAPE_WORKGROUP || to->tasks == 0 || chunks < 2 ||
        to->strips.row_step > 1 || heed_plan_one_range(plan))
        return;
    ends_find(plan, to);
    cut = (double)(to->cut_first + to->cut_last) * (double)to->groups * (double)to->item_groups +
          (double)to->list_tasks;
    if (cut == 0 || cut * tasks * chunks * few_bytes(to->d_v) > HEED_TUNE_GROUP_CHUNKS_BYTES ||
        (double)to->tasks * (double)to->passes > HEED_TUNE_TASKS_MAX / 2) {
        to->cut_first = to->cut_last = 0;
        return;
    }
    to->cut_tasks = (int64_t)cut;
    to->chunk_bytes = (int64_t)few_bytes(to->d_v);
    to->chunks = (int64_t)chunks;
    to->part_chunks =
        hk_max((int64_t)(cut * chunks * (double)to->passes / HEED_TUNE_GROUP_PARTS), 1);
    to->parts = hk_parts(to->chunks, to->part_chunks);
    to->chunks_at = heed_room_place(w, cut * tasks * chunks, (uint64_t)to->chunk_bytes);
}

void heed_parts_find(const struct heed_plan *plan, const struct heed_device_traits *traits,
                     struct hk_plan *to, struct heed_room *w)
{
    if (heed_group_few(plan, traits))
        few_parts_find(plan, to, w);
    else
        lanes_parts_find(plan, traits, to, w);
    if (!heed_group_few(plan, traits))
        cuts_find(plan, traits, to, w);
}
