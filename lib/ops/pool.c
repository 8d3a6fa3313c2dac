/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pooling of rows: windows, ranges and buckets.
 */
#include "windows.h"

#include <heed/pool.h>

/* clang-format off */
static const struct heed_array_row pool_arrays[] = {
    [HK_POOL_X] = HEED_ARRAY_ROW(pool, x, "BHND", IN, NUMBERS, 1),
    [HK_POOL_Y] = HEED_ARRAY_ROW(pool, y, "BHMD", OUT, FLOATS, 1),
    [HK_POOL_MASK] = HEED_ARRAY_ROW(pool, mask, "BhN", IN, U8, 0),
    [HK_POOL_LEN] = HEED_ARRAY_ROW(pool, len, "B", IN, INTS, 0),
    [HK_POOL_RANGES] = HEED_ARRAY_ROW(pool, ranges, "BM2", IN, INTS, 0),
    [HK_POOL_WEIGHTS] = HEED_ARRAY_ROW(pool, weights, "BhN", IN, FLOATS, 0),
    [HK_POOL_IDS] = HEED_ARRAY_ROW(pool, ids, "BhN", IN, I32, 0),
    [HK_POOL_Y_MASK] = HEED_ARRAY_ROW(pool, y_mask, "BhM", OUT, U8, 0),
    [HK_POOL_Y_LEN] = HEED_ARRAY_ROW(pool, y_len, "B", OUT, INTS, 0),
};
/* clang-format on */

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 1000, ARGS_V1 = 192 };
_Static_assert(sizeof(heed_pool_desc) == DESC_V1, "heed_pool_desc may only grow");
_Static_assert(sizeof(heed_pool_args) == ARGS_V1, "heed_pool_args may only grow");

/* Kernels number kinds and tails as descriptors do. */
#define SAME(name) _Static_assert((int)HK_##name == (int)HEED_##name, "numbers of kernels");
SAME(POOL_SUM) SAME(POOL_MEAN) SAME(POOL_MAX) SAME(POOL_LINEAR) SAME(POOL_WEIGHTED)
SAME(POOL_DYNAMIC) SAME(POOL_BUCKET)
SAME(TAIL_FLOOR) SAME(TAIL_CEIL) SAME(TAIL_CENTRE) SAME(TAIL_JOIN) SAME(TAIL_END)
#undef SAME

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(pool, DESC_V1, ARGS_V1, 0, offsetof(heed_pool_desc, reserved));

/* A strip reads about so many bytes. */
enum { STRIP_BYTES = 32768 };

/* ---- numbers ---- */

static struct heed_windows windows_of(const heed_pool_desc *d)
{
    return (struct heed_windows){ d->kernel, d->stride, d->left, d->tail };
}

/* Fields that the kind or the ranges leave no room for. */
static heed_status zero_check(const struct heed_arrays *a, const heed_pool_desc *d, bool windows,
                              bool bucket)
{
    heed_status status = HEED_OK;

    if (!windows) {
        static const char why[] = "only windows take it";

        if ((status = heed_arrays_limit(a, "kernel", d->kernel, 0, 0, why)) < 0 ||
            (status = heed_arrays_limit(a, "stride", d->stride, 0, 0, why)) < 0 ||
            (status = heed_arrays_limit(a, "left", d->left, 0, 0, why)) < 0 ||
            (status = heed_arrays_limit(a, "tail", d->tail, 0, 0, why)) < 0)
            return status;
    }
    status = heed_arrays_limit(a, "block", d->block, bucket ? 1 : 0, bucket ? INT64_MAX : 0,
                               bucket ? "at least 1" : "only BUCKET takes it");
    if (status >= 0)
        status = heed_arrays_limit(a, "buckets", d->buckets, bucket ? 1 : 0,
                                   bucket ? INT32_MAX : 0,
                                   bucket ? "from 1 to 2^31 - 1" : "only BUCKET takes it");
    return status;
}

static heed_status numbers_check(const struct heed_arrays *a, const heed_pool_desc *d)
{
    const bool bucket = d->kind == HEED_POOL_BUCKET, dynamic = d->kind == HEED_POOL_DYNAMIC;
    const bool weighted = dynamic || d->kind == HEED_POOL_LINEAR || d->kind == HEED_POOL_WEIGHTED;
    const bool windows = !bucket && !heed_arrays_has(a, HK_POOL_RANGES);
    heed_status status;

    if ((status = heed_arrays_limit(a, "kind", d->kind, 0, HEED_POOL_BUCKET, "no such kind")) < 0 ||
        (status = heed_arrays_limit(a, "tail", d->tail, 0, HEED_TAIL_END, "no such tail")) < 0 ||
        (status = heed_arrays_want(a, HK_POOL_WEIGHTS, weighted, "the kind says so")) < 0 ||
        (status = heed_arrays_want(a, HK_POOL_IDS, bucket, "the kind says so")) < 0)
        return status;
    if (bucket || dynamic)
        status = heed_arrays_want(a, HK_POOL_RANGES, false, "the kind has rows of its own");
    if (status >= 0)
        status = zero_check(a, d, windows, bucket);
    if (status >= 0 && windows) {
        const struct heed_windows these = windows_of(d);

        status = heed_windows_check(a, &these);
    }
    if (status >= 0 && dynamic && d->tail == HEED_TAIL_JOIN)
        status = heed_where_fail(&a->where, HEED_E_VALUE, "tail", 0, d->tail,
                                 "the last window of JOIN has more tokens than taps");
    return status;
}

/* ---- rows ---- */

static heed_status rows_check(const struct heed_arrays *a, const heed_pool_desc *d)
{
    const int64_t n = heed_arrays_extent(a, 'N');
    const struct heed_windows windows = windows_of(d);
    int64_t rows;

    if (heed_arrays_has(a, HK_POOL_RANGES))
        return HEED_OK;
    if (d->kind != HEED_POOL_BUCKET)
        rows = heed_windows_count(&windows, n);
    else if (!heed_mul_i64(n / d->block + (n % d->block != 0), d->buckets, &rows))
        return heed_where_fail(&a->where, HEED_E_OVERFLOW, "buckets", INT64_MAX, d->buckets,
                               "the rows of all blocks leave 63 bits");
    return heed_arrays_axis(a, HK_POOL_Y, 4, rows, "rows of x's tokens");
}

/* A row exists for one head and not for another where tokens do. */
static heed_status y_mask_check(const struct heed_arrays *a)
{
    static const uint32_t by_head[] = { HK_POOL_MASK, HK_POOL_IDS };
    heed_status status = HEED_OK;

    if (!heed_arrays_has(a, HK_POOL_Y_MASK) || a->operands[HK_POOL_Y_MASK].view.shape[4] != 1)
        return HEED_OK;
    for (uint32_t i = 0; i < 2 && status >= 0; i++) {
        if (heed_arrays_has(a, by_head[i]) && a->operands[by_head[i]].view.shape[4] != 1)
            status = heed_arrays_axis(a, HK_POOL_Y_MASK, 4, a->operands[by_head[i]].view.shape[4],
                                      "heads of mask and ids");
    }
    return status;
}

/* ---- the operation ---- */

/* Bytes of x that a row reads for the first time. */
static int64_t row_bytes(const struct heed_arrays *a, const heed_pool_desc *d)
{
    const int64_t size = heed_arrays_row_bytes(heed_arrays_extent(a, 'D'), d->x.dtype);
    const int64_t rows = heed_arrays_extent(a, 'M'), n = heed_arrays_extent(a, 'N');
    const int64_t tokens = rows > 0 ? n / rows : n;

    return size > 0 && tokens > STRIP_BYTES / size ? STRIP_BYTES
                                                   : size * (tokens > 0 ? tokens : 1);
}

static heed_status form_fill(struct heed_arrays *a, const heed_pool_desc *d)
{
    struct hk_pool *pool = a->numbers;
    const int64_t heads = heed_arrays_extent(a, 'H'), rows = heed_arrays_extent(a, 'M');
    /* y_mask and y_len are written also where there is no row or no head. */
    const heed_status status = heed_arrays_strips(a, heads > 0 ? heads : 1, rows > 0 ? rows : 1,
                                                  row_bytes(a, d), STRIP_BYTES);

    pool->strip.rows = rows;
    pool->d = heads > 0 ? heed_arrays_extent(a, 'D') : 0;
    pool->n = heed_arrays_extent(a, 'N');
    pool->window = d->kernel;
    pool->stride = d->stride;
    pool->left = d->left;
    pool->block = d->block;
    pool->buckets = d->buckets;
    pool->kind = d->kind;
    pool->tail = d->tail;
    pool->tokens = heed_arrays_has(a, HK_POOL_RANGES) ? HK_POOL_RANGED
                   : d->kind == HEED_POOL_BUCKET      ? HK_POOL_BUCKETS
                                                      : HK_POOL_WINDOWS;
    return status;
}

static heed_status check(struct heed_plan *plan, struct heed_arena *arena, const void *given,
                         heed_report *report)
{
    heed_pool_desc desc;
    struct heed_arrays a;
    heed_status status = heed_arrays_open(&a, plan, arena, given, &desc, report);

    if (status >= 0)
        status = numbers_check(&a, &desc);
    if (status < 0)
        return status;
    if (desc.kind == HEED_POOL_DYNAMIC)
        a.axes[HK_POOL_WEIGHTS] = "BhMK";
    status = heed_arrays_lay(&a);
    if (status >= 0)
        status = rows_check(&a, &desc);
    if (status >= 0 && desc.kind == HEED_POOL_DYNAMIC)
        status = heed_arrays_axis(&a, HK_POOL_WEIGHTS, 5, desc.kernel, "one for each tap");
    if (status >= 0)
        status = y_mask_check(&a);
    if (status >= 0 && desc.y_len.dtype == HEED_I32 && heed_arrays_has(&a, HK_POOL_Y_LEN) &&
        heed_arrays_extent(&a, 'M') > INT32_MAX)
        status = heed_where_fail(&a.where, HEED_E_UNSUPPORTED, "y_len.dtype", HEED_I64, HEED_I32,
                                 "there may be more rows than an i32 counts");
    return status < 0 ? status : form_fill(&a, &desc);
}

/* Each token is read once, each row written once; a multiplication and an addition a tap. */
static void work(const struct heed_plan *plan, uint64_t *flops, uint64_t *bytes)
{
    const struct heed_form *form = heed_form_of(plan);
    const struct hk_pool *pool = form->numbers;
    const double items = (double)form->n_batch * (double)pool->strip.heads;
    const double taps = pool->tokens == HK_POOL_WINDOWS
                            ? (double)pool->strip.rows * (double)pool->window
                            : (double)pool->n;

    *flops = heed_arrays_whole(2 * items * taps * (double)pool->d);
    *bytes = heed_arrays_once(plan);
}

const struct heed_op heed_op_pool = {
    .id = HEED_OP_POOL,
    .name = "pool",
    .arrays = &arrays,
    .check = check,
    .lower = heed_arrays_lower,
    .place = heed_arrays_place,
    .work = work,
};

heed_status heed_pool_check(heed_device *device, const heed_pool_desc *desc, heed_report *report)
{
    return heed_op_check(&heed_op_pool, device, desc, report);
}

heed_status heed_pool_plan(heed_device *device, const heed_pool_desc *desc, heed_plan **out,
                           heed_report *report)
{
    return heed_op_plan(&heed_op_pool, device, desc, out, report);
}

heed_status heed_pool_run(const heed_plan *plan, heed_queue *queue, const heed_pool_args *args,
                          heed_event **event, heed_report *report)
{
    return heed_op_run(&heed_op_pool, plan, queue, args, event, report);
}
