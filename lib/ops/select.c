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
    [HK_SELECT_X] = HEED_ARRAY_ROW(select, x, "BGND", IN, NUMBERS, 1),
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

#define CHANNELS_MAX ((int64_t)1 << 40)

/* Sizes of the first version: frozen. */
enum { DESC_V1 = 984, ARGS_V1 = 192 };
_Static_assert(sizeof(heed_select_desc) == DESC_V1, "heed_select_desc may only grow");
_Static_assert(sizeof(heed_select_args) == ARGS_V1, "heed_select_args may only grow");

static const struct heed_array_table arrays =
    HEED_ARRAY_TABLE(select, DESC_V1, ARGS_V1, 0, 0);

/* Bytes that a strip reads, about: HASH lays out its matrices for each. A row counts as so many at
 * least. More candidates a round than these no hash needs. */
enum { NORM_BYTES = 1 << 15, HASH_BYTES = 1 << 17, ROW_BYTES_MIN = 16, CANDIDATES_MAX = 1 << 20 };

/* The pass that joins what parts gave. */
enum { JOIN = 3 };

/* TOPK: keys that a query row holds beyond `count` at least; query rows of a strip at least, if
 * they hold more keys than that together; tasks that are too few, at least, for each worker or
 * unit of the device, and at most, as there are no more groups with scratch; tokens of a part at
 * least; keys that parts give together at most. */
enum {
    ROOM_MIN = 64,
    ROWS_MIN = 16,
    KEYS_MAX = 1 << 18,
    TASKS_FEW = 8,
    TASKS_EACH = 4,
    TASKS_MOST = 512,
    PART_MIN = 192,
    CHOSEN_MAX = 1 << 20
};

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

static int64_t blocks_of(const struct hk_select *select)
{
    return select->n / select->block + (select->n % select->block != 0);
}

static heed_status norm_check(const struct heed_arrays *a, const heed_select_desc *d)
{
    int64_t places;

    if (!heed_mul_i64(blocks_of(a->numbers), d->count, &places) ||
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

static void numbers_fill(struct heed_arrays *a, const heed_select_desc *d)
{
    struct hk_select *select = a->numbers;

    select->d = heed_arrays_extent(a, 'D');
    select->n = heed_arrays_extent(a, 'N');
    select->block = d->block;
    select->count = d->count;
    select->pad_front = d->pad_front;
    select->pad_back = d->pad_back;
    select->groups = heed_arrays_extent(a, 'G');
    select->kind = d->kind;
}

static heed_status extents_check(struct heed_arrays *a, const heed_select_desc *d)
{
    struct hk_select *select = a->numbers;

    if (select->d > CHANNELS_MAX)
        return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "x.shape", CHANNELS_MAX, select->d,
                               "more channels than are supported");
    if (select->n > INT32_MAX)
        return heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "x.shape", INT32_MAX, select->n,
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

/* ---- a worker's scratch ---- */

/* Rooms are whole lines of a cache. What a form asks for in all is below this. */
enum { ALIGN = 64, WIDTH = 16, PANEL = 64, TILE_ROWS = 16, PARTIALS = 16 };
static const double scratch_max = 0x1p48; /* bytes */

/* `rows` rows of `size` bytes each. The sum is also kept as a double, which cannot wrap. */
static void scratch_add(struct hk_select *select, struct heed_form *form, double *bytes,
                     uint32_t what, int64_t rows, int64_t size)
{
    *bytes += (double)rows * (double)size + ALIGN;
    select->scratch_at[what] = form->scratch;
    if (*bytes < scratch_max)
        form->scratch += (rows * size + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return n / to * to + (n % to != 0 ? to : 0);
}

/* Keys that a query row holds: when they are this many, all but the largest go. */
static int64_t topk_room(int64_t count, int64_t n)
{
    const int64_t room = count + (count > ROOM_MIN ? count : ROOM_MIN);

    return room < n ? room : n + 1;
}

static void topk_scratch(struct hk_select *select, struct heed_form *form, double *bytes)
{
    const int64_t rows = select->strip.run;

    scratch_add(select, form, bytes, HK_SCRATCH_KEYS, rows * (select->room + HK_SELECT_MORE),
                sizeof(int64_t));
    scratch_add(select, form, bytes, HK_SCRATCH_BARS, HK_SELECT_QUERIES, sizeof(float));
    scratch_add(select, form, bytes, HK_SCRATCH_HELD, rows, sizeof(int64_t));
    if (select->parts > 1) /* CHOSEN_MAX bounds it */
        form->common = form->tasks[HEED_SELECT_TOPK] * rows * select->count *
                       (int64_t)sizeof(int64_t);
    scratch_add(select, form, bytes, HK_SCRATCH_COLUMNS, select->d,
                HK_SELECT_QUERIES * sizeof(float));
    scratch_add(select, form, bytes, HK_SCRATCH_ROWS, HK_SELECT_TOKENS * select->width,
                sizeof(float));
    scratch_add(select, form, bytes, HK_SCRATCH_PRODUCTS, TILE_ROWS * PANEL, sizeof(float));
}

static void hash_scratch(struct hk_select *select, struct heed_form *form, double *bytes)
{
    int64_t most = 0;

    for (uint32_t r = 0; r < select->n_rounds; r++) {
        const int64_t n = select->candidates[r], span = round_up(n / 2, PANEL);

        most = span > most ? span : most;
        scratch_add(select, form, bytes, HK_SCRATCH_COLUMNS + r, select->d,
                 span * (int64_t)sizeof(float));
        if (r + 1 == select->n_rounds)
            continue;
        scratch_add(select, form, bytes, HK_SCRATCH_SUMS + r, select->width,
                    n * (int64_t)sizeof(float));
        scratch_add(select, form, bytes, HK_SCRATCH_BUCKETS + r, n, sizeof(int32_t));
    }
    scratch_add(select, form, bytes, HK_SCRATCH_ROWS, HK_SELECT_TOKENS * select->width,
                sizeof(float));
    scratch_add(select, form, bytes, HK_SCRATCH_PRODUCTS, TILE_ROWS, most * (int64_t)sizeof(float));
}

static heed_status scratch_find(const struct heed_arrays *a, struct hk_select *select)
{
    double bytes = 0;

    switch (select->kind) {
    case HEED_SELECT_NORM:
        scratch_add(select, a->form, &bytes, HK_SCRATCH_KEYS, select->strip.run * select->room,
                 sizeof(int64_t));
        scratch_add(select, a->form, &bytes, HK_SCRATCH_PRODUCTS, 2 * HK_SELECT_NORMS * PARTIALS,
                    sizeof(float));
        break;
    case HEED_SELECT_TOPK:
        topk_scratch(select, a->form, &bytes);
        break;
    case HEED_SELECT_HASH:
        hash_scratch(select, a->form, &bytes);
        break;
    }
    if (bytes < scratch_max)
        return HEED_OK;
    return heed_report_fill(a->where.report, HEED_E_UNSUPPORTED, "x", (int64_t)scratch_max, 0,
                            "a worker's scratch would be too large");
}

/* ---- tasks ---- */

/* Where strips are few, their tokens are cut into parts, no more than what they give takes. */
static void topk_parts(struct hk_select *select, const heed_device *device, int64_t strips)
{
    const int64_t width = device ? device->props.width : 0;
    const int64_t wanted = TASKS_EACH * width > TASKS_FEW ? TASKS_EACH * width : TASKS_FEW;
    const int64_t few = wanted < TASKS_MOST ? wanted : TASKS_MOST;
    const int64_t least = select->count > PART_MIN / 4 ? 4 * select->count : PART_MIN;
    const double rows = (double)strips * (double)select->strip.run;
    int64_t parts = strips > 0 ? few / strips : 1;

    parts = parts < select->n / least ? parts : select->n / least;
    while (parts > 1 && rows * (double)parts * (double)select->count > CHOSEN_MAX)
        parts /= 2;
    if (parts > 1)
        select->part_tokens = round_up(select->n / parts + 1, HK_SELECT_TOKENS);
    else
        select->part_tokens = select->n > 0 ? select->n : 1;
    select->parts = select->n > 0 ? (select->n - 1) / select->part_tokens + 1 : 1;
}

/* Rows of all heads that choose from one head of x are one to the strips, so that x is read once
 * for a strip, with fewer rows where these hold many keys. */
static heed_status topk_tasks(struct heed_arrays *a, struct hk_select *select)
{
    const int64_t heads = heed_arrays_extent(a, 'H'), groups = select->groups;
    const int64_t rows = heed_arrays_extent(a, 'Q');
    int64_t all, strips, run = HK_SELECT_QUERIES;
    heed_status status;

    if (!heed_mul_i64(groups > 0 ? heads / groups : 0, rows, &all))
        return heed_where_fail(&a->where, HEED_E_OVERFLOW, "q.shape", INT64_MAX, rows,
                               "the rows of all heads leave 63 bits");
    while (run > ROWS_MIN && select->room > KEYS_MAX / run)
        run /= 2;
    run = all > 0 && all < run ? all : run;
    status = heed_arrays_strips(a, groups, all, 1, run);
    if (status < 0)
        return status;
    strips = a->form->tasks[HEED_SELECT_TOPK];
    select->strip.heads = heads;
    select->strip.rows = rows;
    topk_parts(select, a->plan->device, strips);
    if (select->parts == 1)
        return HEED_OK;
    a->form->tasks[HEED_SELECT_TOPK] *= select->parts;
    a->form->shares[JOIN] = run;        /* a work-group joins a row */
    status = heed_arrays_pass(a, 0);
    return status < 0 ? status : heed_arrays_pass(a, strips);
}

/* NORM writes its pads also where there is no block. */
static heed_status block_strips(struct heed_arrays *a, struct hk_select *select, int64_t row_bytes)
{
    const int64_t bytes = select->kind == HEED_SELECT_NORM ? NORM_BYTES : HASH_BYTES;
    const int64_t rows = select->n > 0 ? blocks_of(select) : 1;
    const int64_t most = bytes / (row_bytes > ROW_BYTES_MIN ? row_bytes : ROW_BYTES_MIN);
    int64_t run = most / (select->room > 0 && select->room < most ? select->room : most + 1);

    run = run < 1 ? 1 : run;
    return heed_arrays_strips(a, select->groups, rows, 1, run < rows ? run : rows);
}

static heed_status form_fill(struct heed_arrays *a, const heed_select_desc *d)
{
    struct hk_select *select = a->numbers;
    const bool topk = d->kind == HEED_SELECT_TOPK;
    heed_status status;

    select->room = topk ? topk_room(select->count, select->n)
                        : select->block < select->n ? select->block : select->n;
    select->width = round_up(select->d, WIDTH);
    /* A kind is a pass (kernels/operations.def). */
    for (uint32_t pass = 0; pass < d->kind; pass++) {
        status = heed_arrays_pass(a, 0);
        if (status < 0)
            return status;
    }
    status = topk ? topk_tasks(a, select)
                  : block_strips(a, select, heed_arrays_row_bytes(select->d, d->x.dtype));
    return status < 0 ? status : scratch_find(a, select);
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
    if (status < 0)
        return status;
    numbers_fill(&a, &desc);
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
    *flops = heed_arrays_whole(2 * products * (double)form->n_batch * (double)select->strip.heads *
                               (double)select->n * (double)select->d);
    *bytes = heed_arrays_once(plan);
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
