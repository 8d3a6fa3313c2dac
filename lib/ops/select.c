/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Selection of rows: by norm, by score, by hash.
 */
#include "arrays.h"

#include <heed/pool.h>

/* clang-format off */
#define ROUND(r, letters)                                                                          \
    {                                                                                              \
        .name = "rounds[]", .index = r, .axes = letters, .role = HEED_ROLE_IN,                     \
        .set = HEED_SET_F32,                                                                       \
        .desc_at = offsetof(heed_select_desc, rounds) + r * sizeof(heed_tensor),                   \
        .args_at = offsetof(heed_select_args, rounds) + r * sizeof(heed_buf),                      \
    }
static const struct heed_array_row select_arrays[] = {
    [HK_SELECT_X] = HEED_ARRAY_ROW(select, x, "BGND", IN, FLOATS, 1),
    [HK_SELECT_Q] = HEED_ARRAY_ROW(select, q, "BHQD", IN, FLOATS, 0),
    [HK_SELECT_Y] = HEED_ARRAY_ROW(select, y, "BGT", OUT, I32, 1),
    [HK_SELECT_MASK] = HEED_ARRAY_ROW(select, mask, "BgN", IN, U8, 0),
    [HK_SELECT_LEN] = HEED_ARRAY_ROW(select, len, "B", IN, INTS, 0),
    [HK_SELECT_ROUNDS + 0] = ROUND(0, "gDW"),
    [HK_SELECT_ROUNDS + 1] = ROUND(1, "gDX"),
    [HK_SELECT_ROUNDS + 2] = ROUND(2, "gDY"),
    [HK_SELECT_ROUNDS + 3] = ROUND(3, "gDZ"),
};
#undef ROUND
/* clang-format on */
static const char letters_of_rounds[HEED_SELECT_ROUNDS] = { 'W', 'X', 'Y', 'Z' };

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 984, ARGS_V1 = 192 };
_Static_assert(sizeof(heed_select_desc) == DESC_V1, "heed_select_desc may only grow");
_Static_assert(sizeof(heed_select_args) == ARGS_V1, "heed_select_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(select, DESC_V1, ARGS_V1, 0, 0);

/* A strip reads about so many bytes; more candidates a round than these no hash needs. */
enum { STRIP_BYTES = 32768, CANDIDATES_MAX = 1 << 20 };

/* ---- numbers ---- */

static heed_status rounds_check(const struct heed_arrays *a, bool hash)
{
    heed_status status = heed_arrays_want(a, HK_SELECT_ROUNDS, hash, "the kind says so");

    for (uint32_t r = 1; r < HEED_SELECT_ROUNDS && status >= 0; r++) {
        if (!hash || !heed_arrays_has(a, HK_SELECT_ROUNDS + r - 1))
            status = heed_arrays_want(a, HK_SELECT_ROUNDS + r, false,
                                      hash ? "rounds have no gaps" : "the kind says so");
    }
    return status;
}

static heed_status numbers_check(const struct heed_arrays *a, const heed_select_desc *d)
{
    const bool norm = d->kind == HEED_SELECT_NORM, topk = d->kind == HEED_SELECT_TOPK;
    const bool hash = d->kind == HEED_SELECT_HASH;
    const int64_t pads = norm ? INT32_MAX : 0;
    heed_status status =
        heed_arrays_limit(a, "kind", d->kind, 0, HEED_SELECT_HASH, "no such kind");

    if (status < 0 ||
        (status = heed_arrays_limit(a, "block", d->block, topk ? 0 : 1, topk ? 0 : INT64_MAX,
                                    topk ? "TOPK takes none" : "at least 1")) < 0 ||
        (status = heed_arrays_limit(a, "count", d->count, hash ? 0 : 1, hash ? 0 : INT32_MAX,
                                    hash ? "HASH takes none" : "from 1 to 2^31 - 1")) < 0 ||
        (status = heed_arrays_limit(a, "pad_front", d->pad_front, 0, pads,
                                    "from 0 to 2^31 - 1, and of NORM only")) < 0 ||
        (status = heed_arrays_limit(a, "pad_back", d->pad_back, 0, pads,
                                    "from 0 to 2^31 - 1, and of NORM only")) < 0)
        return status;
    status = heed_arrays_want(a, HK_SELECT_Q, topk, "the kind says so");
    return status < 0 ? status : rounds_check(a, hash);
}

/* ---- extents ---- */

static int64_t blocks_of(const struct heed_arrays *a, const heed_select_desc *d)
{
    const int64_t n = heed_arrays_extent(a, 'N');

    return n / d->block + (n % d->block != 0);
}

static heed_status norm_check(const struct heed_arrays *a, const heed_select_desc *d)
{
    int64_t places;

    if (!heed_mul_i64(blocks_of(a, d), d->count, &places) ||
        !heed_add_i64(places, d->pad_front + d->pad_back, &places))
        return heed_where_fail(&a->where, HEED_E_OVERFLOW, "count", INT64_MAX, d->count,
                               "the places of all blocks leave 63 bits");
    return heed_arrays_axis(a, HK_SELECT_Y, 5, places, "places of all blocks and pads");
}

static heed_status topk_check(const struct heed_arrays *a, const heed_select_desc *d)
{
    const int64_t heads = heed_arrays_extent(a, 'H'), groups = heed_arrays_extent(a, 'G');

    if (groups == 0 ? heads != 0 : heads % groups != 0)
        return heed_arrays_axis(a, HK_SELECT_Q, 3, groups, "a multiple of the heads of x");
    return heed_arrays_axis(a, HK_SELECT_Y, 5, d->count, "count");
}

static heed_status hash_check(const struct heed_arrays *a, struct hk_select *select)
{
    for (uint32_t r = 0; r < HEED_SELECT_ROUNDS; r++) {
        const uint32_t array = HK_SELECT_ROUNDS + r;
        const int64_t m = heed_arrays_extent(a, letters_of_rounds[r]);

        if (!heed_arrays_has(a, array))
            break;
        if (m == 0)
            return heed_arrays_axis(a, array, 5, 1, "a round has columns");
        if (m > CANDIDATES_MAX / 2)
            return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "rounds", CANDIDATES_MAX / 2, m,
                                   "a round has more columns than are supported");
        select->candidates[r] = 2 * m;
        select->n_rounds = r + 1;
    }
    return HEED_OK;
}

/* ---- the operation ---- */

static heed_status extents_check(struct heed_arrays *a, const heed_select_desc *d)
{
    struct hk_select *select = a->numbers;
    const int64_t n = heed_arrays_extent(a, 'N');

    if (n > INT32_MAX)
        return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "x.shape", INT32_MAX, n,
                               "indices have 31 bits");
    switch (d->kind) {
    case HEED_SELECT_NORM:
        return norm_check(a, d);
    case HEED_SELECT_TOPK:
        return topk_check(a, d);
    case HEED_SELECT_HASH:
        return hash_check(a, select);
    }
    return HEED_OK;                 /* numbers_check knows them all */
}

/* Bytes of a worker's own memory: scores of a row, or sums and counts of two rounds. */
static int64_t scratch_of(const struct hk_select *select)
{
    int64_t candidates = 0;

    if (select->kind == HEED_SELECT_TOPK)
        return select->n * (int64_t)sizeof(float);
    for (uint32_t r = 0; r < select->n_rounds; r++)
        candidates += select->candidates[r];
    return candidates * ((int64_t)sizeof(float) * select->d + 16);
}

static heed_status form_fill(struct heed_arrays *a, const heed_select_desc *d)
{
    struct hk_select *select = a->numbers;
    const bool topk = d->kind == HEED_SELECT_TOPK;
    const int64_t size = heed_arrays_extent(a, 'D') * heed_dtype_size(d->x.dtype);
    const int64_t block = topk ? heed_arrays_extent(a, 'N') : d->block;
    const int64_t rows = topk ? heed_arrays_extent(a, 'Q') : blocks_of(a, d);
    const int64_t heads = heed_arrays_extent(a, topk ? 'H' : 'G');

    select->d = heed_arrays_extent(a, 'D');
    select->n = heed_arrays_extent(a, 'N');
    select->block = d->block;
    select->count = d->count;
    select->pad_front = d->pad_front;
    select->pad_back = d->pad_back;
    select->groups = heed_arrays_extent(a, 'G');
    select->kind = d->kind;
    a->form->scratch = scratch_of(select);
    /* NORM writes its pads also where there is no block. */
    return heed_arrays_strips(a, heads, rows > 0 || topk ? rows : 1,
                              size > 0 && block > STRIP_BYTES / size ? STRIP_BYTES : size * block,
                              STRIP_BYTES);
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_select_desc desc;
    struct heed_arrays a;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status < 0)
        return status;
    if (desc.kind != HEED_SELECT_NORM)
        a.axes[HK_SELECT_Y] = desc.kind == HEED_SELECT_TOPK ? "BHQK" : "BGN";
    status = heed_arrays_lay(&a);
    if (status >= 0)
        status = extents_check(&a, &desc);
    return status < 0 ? status : form_fill(&a, &desc);
}

/* A multiplication and an addition for each element of a product. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct heed_form *form = heed_form_of(plan);
    const struct hk_select *select = form->numbers;
    double products = 1;

    if (select->kind == HEED_SELECT_TOPK)
        products = (double)select->strip.rows;
    else if (select->kind == HEED_SELECT_HASH)
        products = (double)select->candidates[0] / 2;
    *flops = (uint64_t)(2 * products * (double)form->n_batch * (double)select->strip.heads *
                        (double)select->n * (double)select->d);
    *bytes = 0;
    for (uint32_t i = 0; i < plan->n_operands; i++)
        *bytes += heed_arrays_bytes(plan, i, heed_arrays_elements(plan, i));
}

const struct heed_op heed_op_select = {
    .id = HEED_OP_SELECT,
    .name = "select",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_select_check(heed_device *device, const heed_select_desc *desc,
                              heed_report *report)
{
    return heed_op_check(&heed_op_select, device, desc, report);
}

heed_status heed_select_plan(heed_device *device, const heed_select_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_select, device, desc, out, report);
}

heed_status heed_select_run(const heed_plan *plan, heed_queue *queue, const heed_select_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_select, plan, queue, args, event, report);
}
