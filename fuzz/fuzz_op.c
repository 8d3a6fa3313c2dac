/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with fixed arrays, each of the conformance kit's table, on guarded memory, on the
 * reference and on the host processor by every instruction set it has. Promised and asked for here:
 * check and plan agree, the same answers everywhere, the same bytes in outputs and states, nothing
 * touched outside the arrays and between their elements, inputs unchanged, outputs too on an error,
 * no allocation in run, the floating-point environment as it was, memory given back, also when an
 * allocation fails, and results that the kit's oracle calls right.
 *
 * An input is a byte each for the operation, the workers, the rounding, the allocation that fails,
 * and what is wrong with the run; 8 for the sides of the guards; a byte a field of the kit's case;
 * then, each rarely, integers of the arrays and fields of the tensors with other values.
 */
#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"
#include "memory.h"
#include "produce.h"
#include "world.h"

#include "conform/engine/place.h"
#include "conform/engine/table.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = 1 << 17, ELEMENTS = 1 << 16, WORKSPACE = MAX_PARTS, PLACES_USED, PATTERN = 0x5a };

/* What is wrong with the arguments of run. */
enum { SOUND, NO_HANDLE, ODD_OFFSET, FAR_OFFSET, SHORT_SIZE, NO_EVENTS, ALIASED, TROUBLES };

struct block {                  /* of an array, as it lies behind its guard */
    uint8_t *place, *origin, *before, *written, *wanted;
    size_t size;
};

static struct {
    struct fuzz_heap *heap;
    struct fuzz_world *world;
    const struct fixed *op;
    struct fixed_problem *p;
    struct answer answer;
    struct fixed_call call;
    struct block blocks[MAX_PARTS];
    uint64_t at_end;
    uint32_t fail_at, trouble, which;
    int rounding;
    bool strange, placed, ran;  /* strange: the oracle is not asked; ran: the reference did */
    heed_status status[3];      /* of the reference: check, plan, run */
} w;

/* ---- the case ----------------------------------------------------------- */

/* A byte a field that means something; half of the bytes are its default. */
static void case_draw(struct rng *b, heed_device *reference, struct cs *c)
{
    struct rng mending;

    cf_case_default(c);
    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];
        uint8_t byte;

        if (f->n_levels < 2 || !cf_field_active(c, i))
            continue;
        byte = fuzz_byte(b);
        if (byte < 128)
            c->v[i] = f->level[byte % f->n_levels];
    }
    cf_case_normalize(c);
    c->seed = fuzz_word(b, 2);
    mending = rng_of(c->seed);
    if (!fuzz_rarely(b, 12) || cf_op->work(c) > WORK)
        (void)cf_case_mend(&mending, reference, WORK, c);
    if (cf_op->work(c) > WORK)
        cf_case_default(c);
}

static int64_t odd_number(struct rng *b)
{
    static const int64_t numbers[] = {
        0, 1, -1, 2, 3, 7, 64, 1 << 20, INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62,
        INT64_MAX, INT64_MIN, -2, -64, INT32_MIN, INT32_MAX, 5,
    };
    const uint8_t byte = fuzz_byte(b);

    return byte < 128 ? numbers[byte % (sizeof(numbers) / sizeof(*numbers))] : byte - 192;
}

/* Other integers in index arrays, lengths, ranges, masks. */
static void integers_set(struct rng *b)
{
    for (int i = 0; i < w.op->n_arrays; i++) {
        struct array *a = &w.p->part[i].a;
        const int64_t n = cf_array_count(a);
        const bool wide = a->dtype == HEED_I32 || a->dtype == HEED_I64;

        if (!part_is(&w.p->part[i]) || !(wide || a->dtype == HEED_U8) || n == 0 ||
            !fuzz_rarely(b, 4))
            continue;
        for (int k = fuzz_byte(b) % 4; k >= 0; k--) {
            const int64_t at = (int64_t)(fuzz_word(b, 2) % (uint64_t)n);

            if (wide)
                cf_array_set_int(a, at, odd_number(b));
            else
                cf_array_set(a, at, fuzz_byte(b) & 1);
        }
        FUZZ_REQUIRE(cf_array_share(a, a->laid), "no memory for the target");
    }
}

/* A field of a tensor, or a number. */
static void desc_patch(struct rng *b)
{
    const uint32_t i = fuzz_byte(b) % (uint32_t)w.op->n_arrays, what = fuzz_byte(b) % 12;
    heed_tensor *t = fixed_tensor(&w.call, (int)i);
    int64_t value;

    w.strange = true;
    if (what == 0)
        t->dtype = fuzz_byte(b) % 20;
    else if (what == 1)
        t->ndim = fuzz_byte(b) % 8;
    else if (what < 5)
        t->shape[fuzz_byte(b) % 6] = odd_number(b);
    else if (what < 9)
        t->stride[fuzz_byte(b) % 6] = odd_number(b);
    else if (what == 9)
        *t = *fixed_tensor(&w.call, fuzz_byte(b) % w.op->n_arrays);
    else {
        value = odd_number(b);
        memcpy(fixed_number(&w.call, fuzz_byte(b)), &value, what == 10 ? 4 : 8);
    }
}

static void case_make(const uint8_t *data, size_t size)
{
    static const int roundings[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    struct rng bytes = rng_of_bytes(data, size), *b = &bytes;
    struct cs c;

    w.op = fixed_of(cf_ops[1 + fuzz_byte(b) % (cf_n_ops - 1)]);
    cf_op_use(&w.op->op);
    w.heap = fuzz_world_heap();
    w.world = fuzz_world(1 + fuzz_byte(b) % WORKERS_MOST);
    w.rounding = roundings[fuzz_byte(b) % 4];
    w.fail_at = fuzz_rarely(b, 8) ? 1 + fuzz_byte(b) % 8 : 0;
    w.trouble = fuzz_rarely(b, 6) ? fuzz_byte(b) % TROUBLES : SOUND;
    w.which = fuzz_byte(b) % (uint32_t)w.op->n_arrays;
    w.at_end = fuzz_word(b, 8);
    case_draw(b, w.world->devices[0], &c);
    w.p = fixed_problem_make(&c, true);
    FUZZ_REQUIRE(w.p != NULL, "no memory for the target");
    integers_set(b);
    FUZZ_REQUIRE(fixed_call_describe(&w.call, w.p, 0), "no memory for the target");
    w.strange = w.op->check(w.world->devices[0], w.call.desc.bytes, NULL) < 0;
    FUZZ_REQUIRE(w.strange || answer_make(&w.answer, w.p), "no memory for the target");
    for (int i = 0; i < w.op->n_arrays; i++) {
        if (!part_is(&w.p->part[i]))
            continue;
        memset(w.call.place[i].snapshot, PATTERN, w.call.place[i].bytes);
        if (!(w.p->part[i].role & OUT))
            place_store(&w.call.place[i], &w.p->part[i].a);
    }
    for (int k = fuzz_rarely(b, 4) ? 1 + fuzz_byte(b) % 3 : 0; k > 0; k--)
        desc_patch(b);
}

/* ---- memory ------------------------------------------------------------- */

static bool block_make(int i)
{
    struct block *k = &w.blocks[i];
    const heed_tensor *t = fixed_tensor(&w.call, i);
    int64_t low, high, n;

    memset(k, 0, sizeof(*k));
    if (t->ndim == 0)
        return true;
    n = fuzz_count(t, ELEMENTS);
    if (n < 0 || !fuzz_extent(t, &low, &high) || high - low > FUZZ_PLACE_BYTES - FUZZ_MARGIN)
        return false;
    k->size = (size_t)(high - low);
    k->place = fuzz_place((uint32_t)i, k->size, w.at_end >> i & 1);
    k->origin = k->place - low;
    memset(k->place, PATTERN, k->size);
    if (w.call.place[i].snapshot)
        fuzz_fill(k->place, k->size, &w.call.place[i]);
    k->before = malloc(k->size + 1);
    k->written = calloc(k->size + 1, 1);
    k->wanted = malloc(k->size + 1);
    FUZZ_REQUIRE(k->before && k->written && k->wanted, "no memory for the target");
    memcpy(k->before, k->place, k->size);
    for (int64_t e = 0; w.op->arrays[i].role & (OUT | STATE) && e < n; e++) {
        const int64_t size = fuzz_dtype_size(t->dtype);

        memset(k->written + (k->origin - k->place) + fuzz_offset(t, e) * size, 1, (size_t)size);
    }
    return true;
}

static void blocks_make(void)
{
    double most = 1, second = 1;

    w.placed = true;
    for (int i = 0; i < w.op->n_arrays; i++) {
        const heed_tensor *t = fixed_tensor(&w.call, i);
        const double n = t->ndim ? (double)fuzz_count(t, ELEMENTS) : 0;

        w.placed = block_make(i) && w.placed;
        second = n > most ? most : n > second ? n : second;
        most = n > most ? n : most;
    }
    w.placed = w.placed && most * second < 1 << 26; /* more than an input should cost */
}

/* Nothing has changed but, where `outputs`, elements of outputs and states. */
static void blocks_compare(bool outputs, const char *after)
{
    for (int i = 0; i < w.op->n_arrays; i++) {
        const struct block *k = &w.blocks[i];

        for (size_t at = 0; k->place && at < k->size; at++)
            FUZZ_REQUIRE(k->place[at] == k->before[at] || (outputs && k->written[at]),
                         "%s: byte %zu of %s changed", after, at, w.op->arrays[i].name);
    }
}

static void blocks_restore(void)
{
    for (int i = 0; i < w.op->n_arrays; i++) {
        if (w.blocks[i].place)
            memcpy(w.blocks[i].place, w.blocks[i].before, w.blocks[i].size);
    }
}

static void blocks_finish(void)
{
    for (int i = 0; i < MAX_PARTS; i++) {
        free(w.blocks[i].before);
        free(w.blocks[i].written);
        free(w.blocks[i].wanted);
        memset(&w.blocks[i], 0, sizeof(w.blocks[i]));
    }
}

/* ---- a run -------------------------------------------------------------- */

static void args_make(void)
{
    const uint32_t size = (uint32_t)w.op->args_size;

    memset(w.call.args.bytes, 0, sizeof(w.call.args.bytes));
    memcpy(w.call.args.bytes, &size, sizeof(size));
    for (int i = 0; i < w.op->n_arrays; i++)
        fixed_buf(&w.call, i)->handle = w.blocks[i].origin;
}

static void args_spoil(void)
{
    heed_buf *buf = fixed_buf(&w.call, (int)w.which);
    const struct block *own = &w.blocks[w.which];
    const uint32_t size = 24;

    switch (w.trouble) {
    case NO_HANDLE:
        buf->handle = NULL;
        break;
    case ODD_OFFSET:
        buf->offset = fuzz_dtype_size(fixed_tensor(&w.call, (int)w.which)->dtype) > 1;
        break;
    case FAR_OFFSET:
        buf->offset = UINT64_MAX - 63;
        break;
    case SHORT_SIZE:
        memcpy(w.call.args.bytes, &size, sizeof(size));
        break;
    case NO_EVENTS:
        fixed_run(&w.call)->n_wait = 1;
        break;
    case ALIASED:
        for (int i = 0; i < w.op->n_arrays; i++) {
            if (i != (int)w.which && own->size > 0 && w.blocks[i].size >= own->size)
                buf->handle = w.blocks[i].place + (own->origin - own->place);
        }
        break;
    }
}

static void workspace_give(const heed_plan_props *props, void **own)
{
    const uint64_t align = props->workspace_align, size = props->workspace_size;
    const bool flush = size % align == 0 && w.at_end >> 63;
    uint8_t *p = fuzz_place(WORKSPACE, (size_t)size, flush);

    FUZZ_REQUIRE(align != 0 && (align & (align - 1)) == 0 && align <= 4096, "workspace_align %llu",
                 (unsigned long long)align);
    FUZZ_REQUIRE(size < UINT64_C(1) << 28, "a workspace of %llu bytes for little work",
                 (unsigned long long)size);
    if (!p)
        FUZZ_REQUIRE(posix_memalign(own, align < 8 ? 8 : align, size ? size : 1) == 0,
                     "no memory for a workspace");
    fixed_run(&w.call)->workspace.handle = p ? p : *own;
    memset(fixed_run(&w.call)->workspace.handle, 0xff, (size_t)size);
    fixed_run(&w.call)->workspace_size = size;
}

static heed_status plan_run(const heed_plan *plan, uint32_t device)
{
    heed_plan_props props = { .size = sizeof(props) };
    heed_report report = { .size = sizeof(report) };
    const uint64_t calls = w.heap->calls;
    void *own = NULL;
    heed_status status;
    int found;

    FUZZ_REQUIRE(heed_plan_info(plan, &props) == HEED_OK, "no properties of a plan");
    args_make();
    if (props.workspace_size > 0)
        workspace_give(&props, &own);
    args_spoil();
    fuzz_places_close(PLACES_USED, true);
    fesetround(w.rounding);
    status = w.op->run(plan, w.world->queues[device], w.call.args.bytes, NULL, &report);
    found = fegetround();
    fesetround(FE_TONEAREST);
    fuzz_places_close(PLACES_USED, false);
    FUZZ_REQUIRE(found == w.rounding, "run left another rounding");
    FUZZ_REQUIRE(w.heap->calls == calls, "run allocated");
    FUZZ_REQUIRE(report.status == status, "run answers %d, the report %d", status, report.status);
    blocks_compare(status >= 0, "run");
    free(own);
    return status;
}

/* ---- verdicts ----------------------------------------------------------- */

/* Are descriptor and contents those of a legal problem of the kit? Inputs may share memory. */
static bool is_plain(void)
{
    return !w.strange && w.trouble != ALIASED;
}

/* Bytes that several rows of a copy go to may be those of any. */
static bool is_loose(void)
{
    for (int i = 0; i < w.op->n_arrays; i++) {
        for (int64_t e = 0; w.answer.said[i] && e < cf_array_count(&w.p->part[i].a); e++) {
            if (w.answer.said[i][e].kind == SAID_ANY)
                return true;
        }
    }
    return !is_plain() && w.op->judge; /* nobody knows */
}

static void outputs_compare(uint32_t device)
{
    for (int i = 0; i < w.op->n_arrays; i++) {
        const struct block *k = &w.blocks[i];

        if (!k->place || w.op->arrays[i].role & IN)
            continue;
        if (device == 0)
            memcpy(k->wanted, k->place, k->size);
        else if (!is_loose())
            FUZZ_REQUIRE(memcmp(k->wanted, k->place, k->size) == 0,
                         "op=%s: %s differs on device %u", w.op->op.name, w.op->arrays[i].name,
                         device);
    }
}

/* The elements of an output in the order of the kit's arrays. */
static void elements_take(const heed_tensor *t, const uint8_t *origin, struct array *to)
{
    const int64_t n = cf_array_count(to), size = fuzz_dtype_size(t->dtype);

    FUZZ_REQUIRE(to->data || cf_array_alloc(to), "no memory for the target");
    for (int64_t e = 0; e < n; e++)
        memcpy((uint8_t *)to->data + e * size, origin + fuzz_offset(t, e) * size, (size_t)size);
}

static void oracle_compare(uint32_t device)
{
    struct verdict v = { .failed = false };
    char line[LINE];

    if (!is_plain())
        return;
    for (int i = 0; i < w.op->n_arrays; i++) {
        const struct block *k = &w.blocks[i];

        if (!fixed_writes(w.p, i))
            continue;
        elements_take(fixed_tensor(&w.call, i), k->origin, &w.call.out[i]);
        elements_take(fixed_tensor(&w.call, i), k->before + (k->origin - k->place),
                      &w.call.old[i]);
    }
    cf_case_print(&w.p->c, line);
    fixed_judge(w.p, &w.answer, &w.call, FAMILY_EXACT | FAMILY_BOUND, &v);
    FUZZ_REQUIRE(!v.failed, "device %u, trouble %u of %u: %s: %s", device, w.trouble, w.which, line,
                 v.why);
}

/* ---- one device --------------------------------------------------------- */

/* An allocation of plan fails: NOMEM, or it was not reached. */
static void plan_fail(uint32_t device, heed_status wanted)
{
    const uint64_t live = w.heap->live;
    heed_plan *plan = NULL;
    heed_status status;

    w.heap->fail_at = w.fail_at;
    status = w.op->plan(w.world->devices[device], w.call.desc.bytes, &plan, NULL);
    w.heap->fail_at = 0;
    heed_plan_drop(plan);
    FUZZ_REQUIRE(status == wanted || status == HEED_E_NOMEM, "plan with a failing allocation: %s",
                 heed_status_name(status));
    FUZZ_REQUIRE(w.heap->live == live, "a failed plan left memory");
}

static void status_compare(uint32_t device, int call, heed_status status)
{
    if (device == 0)
        w.status[call] = status;
    FUZZ_REQUIRE(status == w.status[call] || (!w.placed && status == HEED_E_NOMEM) ||
                     (!w.placed && status == HEED_E_UNSUPPORTED),
                 "op=%s: call %d on device %u answers %s, wanted %s", w.op->op.name, call, device,
                 heed_status_name(status), heed_status_name(w.status[call]));
}

static void device_run(uint32_t device)
{
    const uint64_t live = w.heap->live;
    heed_report said = { .size = sizeof(said) }, did = { .size = sizeof(did) };
    heed_plan *plan = NULL;
    heed_status status;

    status = w.op->check(w.world->devices[device], w.call.desc.bytes, &said);
    status_compare(device, 0, status);
    FUZZ_REQUIRE(w.heap->live == live, "check kept memory");
    if (w.fail_at)
        plan_fail(device, status);
    status = w.op->plan(w.world->devices[device], w.call.desc.bytes, &plan, &did);
    status_compare(device, 1, status);
    FUZZ_REQUIRE(status == said.status || (!w.placed && status == HEED_E_NOMEM),
                 "check says %s, plan %s", heed_status_name(said.status),
                 heed_status_name(status));
    FUZZ_REQUIRE((status < 0) == (plan == NULL), "plan answered %d", status);
    FUZZ_REQUIRE(status >= 0 || strcmp(said.field, did.field) == 0 || !w.placed,
                 "check names %s, plan %s", said.field, did.field);
    if (plan && w.placed) {
        status = plan_run(plan, device);
        status_compare(device, 2, status);
        w.ran = status >= 0;
        if (w.ran) {
            outputs_compare(device);
            oracle_compare(device);
        }
        blocks_restore();
    }
    heed_plan_drop(plan);
    FUZZ_REQUIRE(w.heap->live == live, "a dropped plan left memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > FUZZ_INPUT_MOST)
        return 0;
    case_make(data, size);
    blocks_make();
    w.ran = false;
    for (uint32_t i = 0; i < w.world->n; i++)
        device_run(i);
    blocks_finish();
    answer_finish(&w.answer);
    memset(&w.answer, 0, sizeof(w.answer));
    job_finish(&w.call.job);
    fixed_problem_free(w.p);
    return 0;
}

/* Random bytes; those of every fourth number may fail, the others must compute something. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    struct rng numbers = rng_of(number + 77);
    const size_t size = 60 + number % 5 * 20;

    for (size_t i = 0; i < size; i++)
        data[i] = fuzz_byte(&numbers);
    data[0] = (uint8_t)(number % (uint32_t)(cf_n_ops - 1));
    (void)LLVMFuzzerTestOneInput(data, size);
    return w.ran || number % 4 == 3 ? size : 0;
}
