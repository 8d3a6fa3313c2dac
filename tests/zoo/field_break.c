/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * In which order the field kernel sums a row. Every order is right; those of a BREAK depend on what
 * must not matter.
 */
#include "field.h"

#include <stdatomic.h>
#include <time.h>

/* Of sums in parts, so that few keys already show another order. */
static void parts(struct field_sum *sum, bool many)
{
    sum->split = many ? 3 : 1;
}

/* ---- repeat, threads ------------------------------------------------------------------- */

static atomic_int last_run;

static long nanoseconds(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return t.tv_nsec;
}

static void by_time(const struct field_state *s, const struct field_work *work,
                    struct field_sum *sum)
{
    if (field_has(F_order_by_run))
        sum->reversed = s->runs % 2 == 0;
    if (field_has(F_order_by_time))
        sum->reversed = nanoseconds() / 64 % 2;
    if (field_has(F_order_by_workspace))
        sum->reversed = work->garbage == 0x5a;
    if (field_has(F_largest_of_last_run)) {
        sum->reversed = work->number == 0 && atomic_load(&last_run) > 0;
        atomic_store(&last_run, 1);
    }
}

/* Of heads: with rows of all items a batch has others left over than its items have. */
static void by_workers(const struct field_state *s, struct field_place place,
                       const struct field_work *work, struct field_sum *sum)
{
    if (field_has(F_parts_by_workers))
        sum->split = work->width;
    if (field_has(F_order_by_worker) || field_has(F_two_workers_write_a_row))
        sum->reversed = work->worker % 2;
    if (field_has(F_order_by_arrival))
        sum->reversed = work->arrival % 2;
    if (field_has(F_order_of_heads_left_over))
        sum->reversed = place.head >= s->heads / work->width * work->width;
    if (field_has(F_first_worker_sets_up))
        sum->reversed = !work->set_up;
}

/* ---- layout ------------------------------------------------------------------------------ */

static uintptr_t address_of(heed_buf buf)
{
    return (uintptr_t)buf.handle + (uintptr_t)buf.offset;
}

static void by_place(const struct field_state *s, const heed_attn_args *args,
                     struct field_sum *sum)
{
    if (field_has(F_order_by_address))
        sum->reversed = address_of(args->q) / 64 % 2;
    if (field_has(F_order_by_stride))
        sum->reversed = field_stride(&s->k, 2) != s->d;
    if (field_has(F_order_by_alignment))
        sum->reversed = address_of(args->kv->v) % 16 != 0;
    if (field_has(F_order_by_place_of_o))
        sum->reversed = address_of(args->o) % 32 != 0;
    if (field_has(F_order_by_place_of_heads))
        sum->reversed = field_stride(&s->q, 3) < field_stride(&s->q, 2);
    if (field_has(F_tile_is_a_page) && s->paged)
        sum->tile = s->page;
    if (field_has(F_order_of_shared_keys))
        sum->reversed = s->items > 1 && !s->paged && (s->k.ndim < 4 || s->k.shape[0] == 1);
}

/* ---- batch, chunk ------------------------------------------------------------------------- */

static bool neighbour_is_positive(const struct field_state *s, const heed_attn_args *args,
                                  struct field_place place)
{
    if (s->items < 2 || s->d == 0)
        return false;
    place.item = (place.item + 1) % s->items;
    place.head = place.row = 0;
    return field_load(s->q.dtype, field_row_of(s, &s->q, args->q, place)) > 0;
}

static bool shorter_than_another(const struct field_state *s, const heed_attn_args *args,
                                 int64_t item)
{
    for (int64_t i = 0; i < s->items; i++) {
        if (field_length(s, args, i) > field_length(s, args, item))
            return true;
    }
    return false;
}

static void by_batch(const struct field_state *s, const heed_attn_args *args,
                     struct field_place place, struct field_sum *sum)
{
    if (field_has(F_parts_by_batch))
        parts(sum, s->items > 1);
    if (field_has(F_order_by_item))
        sum->reversed = place.item % 2;
    if (field_has(F_order_of_last_item))
        sum->reversed = place.item > 0 && place.item == s->items - 1;
    if (field_has(F_order_by_neighbour))
        sum->reversed = neighbour_is_positive(s, args, place);
    if (field_has(F_order_by_longest))
        sum->reversed = shorter_than_another(s, args, place.item);
    if (field_has(F_parts_by_rows_of_all))
        parts(sum, s->items * s->n_q > 1);
}

static void by_rows(const struct field_state *s, const heed_attn_args *args,
                    struct field_place place, struct field_sum *sum)
{
    if (field_has(F_order_of_decode))
        sum->reversed = s->n_q == 1;
    if (field_has(F_order_by_row))
        sum->reversed = place.row % 2;
    if (field_has(F_order_of_last_row))
        sum->reversed = place.row > 0 && place.row == s->n_q - 1;
    if (field_has(F_parts_by_rows))
        parts(sum, s->n_q > 1);
    if (field_has(F_order_by_cache))
        sum->reversed = s->n_k > field_length(s, args, place.item);
}

struct field_sum field_sum_of(const struct field_state *s, const heed_attn_args *args,
                              struct field_place place, const struct field_work *work)
{
    struct field_sum sum = { field_way.reversed, field_way.tile, field_way.split };

    by_time(s, work, &sum);
    by_workers(s, place, work, &sum);
    by_place(s, args, &sum);
    by_batch(s, args, place, &sum);
    by_rows(s, args, place, &sum);
    return sum;
}
