/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Small structured attentions on guarded memory, on the reference and on the host processor by
 * every instruction set it has. Promised and asked for here: the same answers and the same report
 * everywhere, the same bits in o and lse, nothing touched outside the arrays, inputs and the bytes
 * between the elements of outputs unchanged, outputs too on an error, no allocation in run, the
 * floating-point environment as it was, NaN and zero canonical, rows without a key +0 and -Inf, and
 * results within the bound of the conformance kit's oracle.
 */
#define _POSIX_C_SOURCE 200809L

#include "arrays.h"
#include "fuzz.h"
#include "world.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = MAX_HOST_DEVICES, CALLS = 4 };

/* What one device made of a case. */
struct outcome {
    heed_status check, plan, run, validate;
    heed_report report[CALLS];  /* of these, in order */
    bool ran;                   /* o and lse are there */
    uint8_t *o, *lse;           /* elements, last axis fastest; freed after the case */
};

static struct {
    struct fuzz_heap *heap;
    struct fuzz_world *world;
    struct fuzz_case c;
    struct fuzz_arrays arrays;
    struct outcome outcomes[DEVICES];
} w;

/* ---- arguments ---------------------------------------------------------- */

struct arguments {
    heed_attn_args args;
    uint8_t tail[16];           /* args may be longer than the library knows */
    heed_kv_bufs kv[MAX_SOURCES];
    heed_buf slots[MAX_SLOTS];
};

static heed_buf buf_of(uint32_t i)
{
    return (heed_buf){ .handle = w.arrays.at[i].t ? w.arrays.at[i].origin : NULL };
}

static void arguments_make(struct arguments *a)
{
    memset(a, 0, sizeof(*a));
    a->args.size = sizeof(a->args);
    a->args.kv_size = sizeof(heed_kv_bufs);
    a->args.q = buf_of(FUZZ_Q);
    a->args.o = buf_of(FUZZ_O);
    a->args.lse = buf_of(FUZZ_LSE);
    a->args.sinks = buf_of(FUZZ_SINKS);
    for (uint32_t i = 0; i < w.c.call.desc.n_sources; i++)
        a->kv[i] = (heed_kv_bufs){ buf_of(FUZZ_KV + 2 * i), buf_of(FUZZ_KV + 2 * i + 1) };
    for (uint32_t i = 0; i < w.c.call.desc.n_slots; i++)
        a->slots[i] = buf_of(FUZZ_SLOT + i);
    a->args.kv = a->kv;
    a->args.slots = a->slots;
    a->args.n_slots = w.c.call.desc.n_slots;
}

static void arguments_spoil(struct arguments *a)
{
    switch (w.c.trouble) {
    case FUZZ_O_NULL:
        a->args.o.handle = NULL;
        break;
    case FUZZ_Q_ODD:
        a->args.q.offset = 1;
        break;
    case FUZZ_KV_NULL:
        a->args.kv = NULL;
        break;
    case FUZZ_SLOTS_NULL:
        a->args.slots = NULL;
        break;
    case FUZZ_COUNT_OFF:
        a->args.n_slots++;
        break;
    case FUZZ_SIZE_SHORT:
        a->args.size = sizeof(a->args) - 8;
        break;
    case FUZZ_TAIL_SET:
        a->tail[9] = 1;
        a->args.size = sizeof(a->args) + sizeof(a->tail);
        break;
    case FUZZ_SIZE_LONG:
        a->args.size = sizeof(a->args) + sizeof(a->tail);
        break;
    case FUZZ_KV_SHORT:
        a->args.kv_size = sizeof(heed_kv_bufs) - 8;
        break;
    case FUZZ_O_FAR:
        a->args.o.offset = UINT64_MAX - 64;
        break;
    default:
        break;
    }
}

static void workspace_give(heed_attn_args *args, uint64_t size, uint64_t align, void **own)
{
    uint8_t *p = size % align == 0 || !(w.c.at_end >> 63)
                     ? fuzz_place(FUZZ_WORKSPACE, (size_t)size,
                                  size % align == 0 && w.c.at_end >> 63)
                     : NULL;

    FUZZ_REQUIRE(align != 0 && (align & (align - 1)) == 0 && align <= 4096, "workspace_align %llu",
                 (unsigned long long)align);
    FUZZ_REQUIRE(size < UINT64_C(1) << 28, "a workspace of %llu bytes for little work",
                 (unsigned long long)size);
    if (!p)
        FUZZ_REQUIRE(posix_memalign(own, align < 8 ? 8 : align, size ? size : 1) == 0,
                     "no memory for a workspace");
    args->workspace.handle = p ? p : *own;
    memset(args->workspace.handle, 0xff, (size_t)size);         /* NaN, if it were read */
    args->workspace_size = size;
}

/* ---- one device --------------------------------------------------------- */

static const int roundings[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

static heed_status run_guarded(const heed_plan *plan, uint32_t device, const heed_attn_args *args,
                               heed_report *report)
{
    const uint64_t calls = w.heap->calls;
    const int rounding = roundings[w.c.rounding];
    heed_status status;
    int found;

    fuzz_places_close(FUZZ_PLACES_USED, true);
    fesetround(rounding);
    status = heed_attn_run(plan, w.world->queues[device], args, NULL, report);
    found = fegetround();
    fesetround(FE_TONEAREST);
    fuzz_places_close(FUZZ_PLACES_USED, false);
    FUZZ_REQUIRE(found == rounding, "run left another rounding");
    FUZZ_REQUIRE(w.heap->calls == calls, "run allocated");
    fuzz_arrays_compare(&w.arrays, status >= 0, "run");
    return status;
}

static void plan_run(const heed_plan *plan, uint32_t device, struct outcome *out)
{
    heed_plan_props props = { .size = sizeof(props) };
    struct arguments a;
    void *workspace = NULL;

    FUZZ_REQUIRE(heed_plan_info(plan, &props) == HEED_OK, "no properties of a plan");
    FUZZ_REQUIRE(props.host_bytes <= w.heap->live, "a plan holds more than there is");
    arguments_make(&a);
    arguments_spoil(&a);
    if (props.workspace_size > 0) {
        workspace_give(&a.args, props.workspace_size, props.workspace_align, &workspace);
        if (w.c.trouble == FUZZ_WORKSPACE_SHORT) {
            a.args.workspace_size--;
            FUZZ_REQUIRE(run_guarded(plan, device, &a.args, NULL) < 0, "a short workspace will do");
            a.args.workspace_size++;
        }
    }
    out->validate = heed_attn_validate(plan, w.world->queues[device], &a.args, &out->report[3]);
    fuzz_arrays_compare(&w.arrays, false, "validate");
    out->run = run_guarded(plan, device, &a.args, &out->report[2]);
    out->ran = true;
    out->o = fuzz_arrays_take(&w.arrays, FUZZ_O);
    out->lse = fuzz_arrays_take(&w.arrays, FUZZ_LSE);
    free(workspace);
}

static void device_run(uint32_t device, bool heavy)
{
    struct outcome *out = &w.outcomes[device];
    const uint64_t live = w.heap->live;
    heed_plan *plan = NULL;

    memset(out, 0, sizeof(*out));
    for (int i = 0; i < CALLS; i++)
        out->report[i].size = sizeof(heed_report);
    out->check = heed_attn_check(w.world->devices[device], &w.c.call.desc, &out->report[0]);
    FUZZ_REQUIRE(w.heap->live == live, "check kept memory");
    out->plan = heed_attn_plan(w.world->devices[device], &w.c.call.desc, &plan, &out->report[1]);
    FUZZ_REQUIRE(out->plan == out->check || (heavy && out->plan == HEED_E_NOMEM),
                 "check said %d, plan %d: %s", out->check, out->plan, out->report[1].message);
    FUZZ_REQUIRE((out->plan < 0) == (plan == NULL), "plan answered %d", out->plan);
    if (plan && !heavy)
        plan_run(plan, device, out);
    heed_plan_drop(plan);
    FUZZ_REQUIRE(w.heap->live == live, "a dropped plan left memory");
    fuzz_arrays_compare(&w.arrays, out->run >= 0 && !heavy, "plan");
    fuzz_arrays_restore(&w.arrays);
}

/* Entries of a PAGED source's table; of another source 1. */
static int64_t pages_of(const heed_source *source)
{
    const heed_attn_desc *d = &w.c.call.desc;
    const heed_tensor *table;

    if (source->layout != HEED_LAYOUT_PAGED || source->slot == 0 || source->slot > d->n_slots)
        return 1;
    table = &d->slots[source->slot - 1].t;
    return table->ndim >= 1 && table->ndim <= 6 ? table->shape[table->ndim - 1] : 1;
}

/* Is this more than an input should cost? Only a broken field makes it so. */
static bool is_heavy(void)
{
    const heed_attn_desc *d = &w.c.call.desc;
    double rows = 1, keys = 1;

    if (!w.arrays.placed)
        return true;
    for (uint32_t i = 0; i < d->q.ndim; i++)
        rows *= (double)(d->q.shape[i] > 0 ? d->q.shape[i] : 1);
    for (uint32_t i = 0; i < d->n_slots; i++) {     /* of RAGGED queries the begins are items */
        const int64_t n = fuzz_count(&d->slots[i].t, INT64_MAX);

        if (d->q_layout == HEED_LAYOUT_RAGGED && d->q_slot == i + 1)
            rows *= (double)(n > 0 ? n : 1);
    }
    for (uint32_t i = 0; i < d->n_sources; i++) {
        const heed_tensor *v = &d->sources[i].v;

        if (v->ndim >= 2 && v->ndim <= 6)
            keys += (double)v->shape[v->ndim - 2] * (double)(v->shape[v->ndim - 1] + 4) *
                    (double)pages_of(&d->sources[i]);
    }
    return rows * keys > 64.0 * (1 << 20);
}

/* ---- verdict ------------------------------------------------------------ */

static int64_t integer_at(const struct fuzz_array *a, int64_t i)
{
    const uint32_t size = fuzz_dtype_size(a->t->dtype);
    const uint8_t *const at = a->origin + fuzz_offset(a->t, i) * size;
    int64_t wide;
    int32_t narrow;

    if (size == 8) {
        memcpy(&wide, at, 8);
        return wide;
    }
    memcpy(&narrow, at, 4);
    return narrow;
}

/* How many items claim a row of RAGGED o, up to 2, with lengths taken generously: a shared row is
 * unspecified, one of nobody is not written. NULL for DENSE queries. */
static uint8_t *claims(int64_t rows)
{
    const heed_attn_desc *d = &w.c.call.desc;
    const struct fuzz_array *begins, *lengths;
    uint8_t *claimed;
    int64_t n;

    if (d->q_layout != HEED_LAYOUT_RAGGED)
        return NULL;
    begins = &w.arrays.at[FUZZ_SLOT + (d->o_slot ? d->o_slot : d->q_slot) - 1];
    lengths = &w.arrays.at[FUZZ_SLOT + d->q_len_slot - 1];
    claimed = fuzz_copy(NULL, (size_t)rows);
    n = fuzz_count(begins->t, INT64_MAX);
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = integer_at(begins, i);
        const int64_t length = fuzz_count(lengths->t, INT64_MAX) == n ? integer_at(lengths, i)
                                                                      : rows;

        for (int64_t r = begin; begin >= 0 && r < rows && r - begin < length; r++)
            claimed[r] = (uint8_t)(claimed[r] + (claimed[r] < 2));
    }
    return claimed;
}

static bool is_canonical(uint32_t dtype, const uint8_t *at)
{
    uint32_t word = 0;
    uint16_t half = 0;

    if (dtype == HEED_F32) {
        memcpy(&word, at, 4);
        return word != 0x80000000u && ((word & 0x7fffffffu) <= 0x7f800000u || word == 0x7fc00000u);
    }
    memcpy(&half, at, 2);
    if (dtype == HEED_F16)
        return half != 0x8000u && ((half & 0x7fffu) <= 0x7c00u || half == 0x7e00u);
    return half != 0x8000u && ((half & 0x7fffu) <= 0x7f80u || half == 0x7fc0u);
}

/* One output of two devices; row_axis counts from the last. */
static void output_compare(const heed_tensor *t, const uint8_t *wanted, const uint8_t *got,
                           uint32_t row_axis, const uint8_t *claimed, const char *name,
                           uint32_t device)
{
    const int64_t n = t->ndim ? fuzz_count(t, INT64_MAX) : 0, size = fuzz_dtype_size(t->dtype);
    const int64_t inner = row_axis == 2 ? t->shape[t->ndim - 1] : 1;
    const int64_t rows = t->ndim ? t->shape[t->ndim - row_axis] : 1;

    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / inner % rows;
        const uint8_t *const x = wanted + i * size, *const y = got + i * size;

        if (claimed && claimed[row] > 1)
            continue;
        FUZZ_REQUIRE(memcmp(x, y, (size_t)size) == 0,
                     "%s[%lld] differs on device %u: %02x%02x, wanted %02x%02x", name, (long long)i,
                     device, y[size - 1], y[size - 2], x[size - 1], x[size - 2]);
        FUZZ_REQUIRE(is_canonical(t->dtype, x), "%s[%lld] is not canonical", name, (long long)i);
        FUZZ_REQUIRE(!claimed || claimed[row] ||
                         (x[0] == FUZZ_PATTERN && x[size - 1] == FUZZ_PATTERN),
                     "%s[%lld] is of nobody and was written", name, (long long)i);
    }
}

static void outcomes_compare(uint32_t device, bool heavy)
{
    const struct outcome *x = &w.outcomes[0], *y = &w.outcomes[device];
    const heed_attn_desc *d = &w.c.call.desc;
    uint8_t *claimed;

    if (heavy && (y->check == HEED_E_UNSUPPORTED || y->plan == HEED_E_NOMEM))
        return;         /* its workspace leaves the address space, or is more than there is */
    for (int i = 0; i < CALLS; i++)
        FUZZ_REQUIRE(memcmp(&x->report[i], &y->report[i], sizeof(x->report[i])) == 0,
                     "call %d on device %u: %s (%s), wanted %s (%s)", i, device,
                     heed_status_name(y->report[i].status), y->report[i].message,
                     heed_status_name(x->report[i].status), x->report[i].message);
    if (!x->ran || !y->ran || x->run < 0)
        return;
    claimed = claims(d->o.shape[d->o.ndim - 2]);
    output_compare(&d->o, x->o, y->o, 2, claimed, "o", device);
    output_compare(&d->lse, x->lse, y->lse, 1, claimed, "lse", device);
    free(claimed);
}

/* A row that sees no key is +0 and -Inf. DENSE queries only: others have no row numbers of o. */
static void visible_compare(void)
{
    const heed_attn_desc *d = &w.c.call.desc;
    const struct outcome *x = &w.outcomes[0];
    struct arguments a;
    int64_t n_q, d_v, n, heads, size, at, sum = 0;

    if (x->run < 0 || !x->ran || d->q_layout != HEED_LAYOUT_DENSE)
        return;                 /* else the ranks may be anything */
    n_q = d->q.shape[d->q.ndim - 2];
    d_v = d->o.shape[d->o.ndim - 1];
    n = d_v ? fuzz_count(&d->o, INT64_MAX) / d_v : 0;       /* rows of all */
    heads = d->q.ndim > 2 ? d->q.shape[d->q.ndim - 3] : 1;
    size = fuzz_dtype_size(d->o.dtype);
    if (n == 0)
        return;
    at = (((int64_t)w.c.item * heads + w.c.head) * n_q + w.c.row) % n;
    arguments_make(&a);
    for (uint32_t s = 0; s < d->n_sources; s++) {
        const int64_t n_k =
            d->sources[s].k.shape[d->sources[s].k.ndim - 2] * pages_of(&d->sources[s]);
        uint8_t *seen = fuzz_copy(NULL, (size_t)n_k);
        const heed_status status = heed_attn_visible(d, &a.args, at / n_q / heads,
                                                     at / n_q % heads, at % n_q, s, seen, NULL);

        FUZZ_REQUIRE(status == HEED_OK, "visible answers %s", heed_status_name(status));
        for (int64_t i = 0; i < n_k; i++)
            sum += seen[i];
        free(seen);
    }
    for (int64_t i = 0; sum == 0 && i < d_v * size; i++)
        FUZZ_REQUIRE(x->o[at * d_v * size + i] == 0, "row %lld sees nothing and is not 0",
                     (long long)at);
    if (sum == 0 && d->lse.ndim && !(d->flags & HEED_ATTN_LSE_WITH_SINK)) {
        static const float none = -INFINITY;

        FUZZ_REQUIRE(memcmp(x->lse + at * 4, &none, 4) == 0, "row %lld sees nothing, lse is not so",
                     (long long)at);
    }
}

/* The outputs of the first device against the kit's oracle, which reads the same descriptor. */
static void oracle_compare(void)
{
    const struct outcome *x = &w.outcomes[0];
    struct arguments a;

    if (x->run < 0 || !x->ran)
        return;
    arguments_make(&a);
    fuzz_judge(&w.c.call.desc, &a.args, x->o, x->lse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool heavy;

    if (size > FUZZ_INPUT_MOST)
        return 0;
    cf_op_use(cf_ops[0]);
    w.heap = fuzz_world_heap();
    fuzz_case_make(&w.c, fuzz_world(1)->devices[0], data, size);
    w.world = fuzz_world(w.c.lanes);
    fuzz_arrays_make(&w.arrays, &w.c);
    heavy = is_heavy();
    for (uint32_t i = 0; i < w.world->n; i++) {
        device_run(i, heavy);
        outcomes_compare(i, heavy);
    }
    if (!heavy) {
        visible_compare();
        oracle_compare();
    }
    for (uint32_t i = 0; i < w.world->n; i++) {
        free(w.outcomes[i].o);
        free(w.outcomes[i].lse);
    }
    fuzz_arrays_finish(&w.arrays);
    fuzz_case_finish(&w.c);
    return 0;
}

/* Random bytes; those of every fourth number may fail, the others must compute something. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    struct rng numbers = rng_of(number);
    const size_t size = 40 + number % 7 * 60;

    for (size_t i = 0; i < size; i++)
        data[i] = fuzz_byte(&numbers);
    (void)LLVMFuzzerTestOneInput(data, size);
    if (number % 4 == 3)
        return w.outcomes[0].run < 0 || w.outcomes[0].plan < 0 ? size : 0;
    return w.outcomes[0].ran && w.outcomes[0].run >= 0 && w.c.call.desc.n_sources > 0 ? size : 0;
}
