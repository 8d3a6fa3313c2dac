/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed_plan_operands and heed_plan_run: against all indices of an array tried one by one, runs over
 * memory that is not a byte longer, and the run by name.
 */
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static heed_runtime *runtime;
static heed_device *device;
static heed_queue *queue;
static heed_report report;

static void before(void)
{
    report = (heed_report){ .size = sizeof(report) };
    ck_assert_int_ge(heed_runtime_create(NULL, &runtime, &report), 0);
    ck_assert_int_ge(heed_device_find(runtime, "reference", &device, &report), 0);
    ck_assert_int_ge(heed_queue_create(device, 0, &queue, &report), 0);
}

static void after(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
}

enum { B = 2, H = 2, N = 3, NK = 5, D = 4 };

static heed_tensor tensor(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    const int64_t shape[4] = { b, h, n, d };

    return heed_array_dense(dtype, NULL, 4, shape).t;
}

/* Backwards over rows, with a gap of one element behind each. */
static heed_tensor reversed(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    heed_tensor t = tensor(dtype, b, h, n, d);

    t.stride[2] = -(d + 1);
    t.stride[1] = n * (d + 1);
    t.stride[0] = h * t.stride[1];
    return t;
}

/* The plan of a small attention: k runs backwards, its lengths come with the run, a mask and the
 * list of global keys are constant. */
static heed_plan *attention(heed_tensor *k)
{
    static const uint8_t mask[NK] = { 1, 1, 0, 1, 1 };
    static const int32_t list[1] = { 1 };
    static const heed_term terms[2] = { { .kind = HEED_TERM_WINDOW, .left = 1, .right = 1 },
                                        { .kind = HEED_TERM_GLOBAL, .slot = 3 } };
    const heed_slot slots[3] = {
        { .t = { .dtype = HEED_U8, .ndim = 2, .shape = { 1, NK }, .stride = { 0, 1 } },
          .data = mask },
        { .t = { .dtype = HEED_I64, .ndim = 1, .shape = { B }, .stride = { -2 } } },
        { .t = { .dtype = HEED_I32, .ndim = 2, .shape = { 1, 1 }, .stride = { 1, 1 } },
          .data = list },
    };
    heed_source source = { .v = tensor(HEED_BF16, B, 1, NK, D), .mask_slot = 1, .len_slot = 2,
                           .terms = terms, .n_terms = 2, .term_size = sizeof(*terms) };
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START,
                            .q = tensor(HEED_F32, B, H, N, D), .o = tensor(HEED_F16, B, H, N, D),
                            .n_sources = 1, .source_size = sizeof(source), .slots = slots,
                            .n_slots = 3, .slot_size = sizeof(*slots) };
    heed_plan *plan = NULL;

    *k = source.k = reversed(HEED_F32, B, 1, NK, D);
    desc.sources = &source;
    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &report) >= 0, "%s", report.message);
    return plan;
}

/* What all indices of t reach. */
static void tried(const heed_tensor *t, int64_t element, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    for (int64_t i = 0; i < t->shape[0]; i++) {
        for (int64_t j = 0; j < t->shape[1]; j++) {
            for (int64_t n = 0; n < t->shape[2]; n++) {
                for (int64_t c = 0; c < t->shape[3]; c++) {
                    const int64_t at = (i * t->stride[0] + j * t->stride[1] + n * t->stride[2] +
                                        c * t->stride[3]) * element;

                    *first = at < *first ? at : *first;
                    *end = at + element > *end ? at + element : *end;
                }
            }
        }
    }
}

enum { Q, O, LSE, SINKS, STATE, K, V, MASK, LENGTHS, GLOBALS, OPERANDS };

TEST(operands_are_listed_as_run_takes_them)
{
    static const char *const names[OPERANDS] = { "q", "o", "lse", "sinks", "state_in", "kv[0].k",
                                                 "kv[0].v", "slots[0]", "slots[1]", "slots[2]" };
    static const uint32_t dtypes[OPERANDS] = { HEED_F32, HEED_F16, 0, 0, 0, HEED_F32, HEED_BF16,
                                               HEED_U8, HEED_I64, HEED_I32 };
    heed_operand got[OPERANDS + 1];
    heed_tensor k;
    heed_plan *plan = attention(&k);
    int64_t low, high;
    uint32_t n = 0;

    memset(got, 0x5a, sizeof(got));
    ck_assert_int_eq(heed_plan_operands(plan, got, OPERANDS + 1, sizeof(*got), &n), HEED_OK);
    ck_assert_uint_eq(n, OPERANDS);
    for (uint32_t i = 0; i < n; i++) {
        const bool writes = i == O || i == LSE, constant = i == MASK || i == GLOBALS;

        ck_assert_str_eq(got[i].name, names[i]);
        ck_assert_uint_eq(got[i].tensor.dtype, dtypes[i]);
        ck_assert_uint_eq(got[i].role, writes ? HEED_ROLE_OUT : HEED_ROLE_IN);
        ck_assert_uint_eq(got[i].flags, constant ? HEED_OPERAND_CONSTANT : 0);
        ck_assert_uint_eq(got[i].same_as, 0);
        ck_assert(got[i].low != got[i].high || constant || dtypes[i] == 0);
    }
    ck_assert_int_eq((unsigned char)got[OPERANDS].name[0], 0x5a);       /* nothing behind them */
    ck_assert_int_eq(got[Q].low, 0);
    ck_assert_int_eq(got[Q].high, B * H * N * D * 4);
    ck_assert_int_eq(got[O].high, B * H * N * D * 2);
    tried(&k, 4, &low, &high);
    ck_assert_int_lt(low, 0);
    ck_assert_int_eq(got[K].low, low);
    ck_assert_int_eq(got[K].high, high);
    /* [B][1][NK][D] with two axes of the batch that are not there */
    ck_assert_uint_eq(got[K].tensor.ndim, 6);
    for (int i = 0; i < 4; i++) {
        const int to = i == 0 ? 2 : i + 2;

        ck_assert_int_eq(got[K].tensor.shape[to], k.shape[i]);
        if (k.shape[i] != 1)
            ck_assert_int_eq(got[K].tensor.stride[to], k.stride[i]);
    }
    ck_assert_int_eq(got[LENGTHS].low, -2 * 8 * (B - 1));
    ck_assert_int_eq(got[LENGTHS].high, 8);
    heed_plan_drop(plan);
}

TEST(a_short_list_and_wrong_calls_write_no_more_than_they_may)
{
    struct {
        heed_operand operand;
        uint64_t more;
    } wide[OPERANDS], untouched[OPERANDS];
    heed_tensor k;
    heed_plan *plan = attention(&k);
    uint32_t n = 77;

    memset(wide, 0x5a, sizeof(wide));
    memcpy(untouched, wide, sizeof(wide));
    ck_assert_int_eq(heed_plan_operands(NULL, &wide[0].operand, 5, sizeof(*wide), &n),
                     HEED_E_NULL);
    ck_assert_int_eq(heed_plan_operands(plan, NULL, 5, sizeof(*wide), &n), HEED_E_NULL);
    ck_assert_int_eq(heed_plan_operands(plan, &wide[0].operand, 5, 8, &n), HEED_E_SIZE);
    ck_assert_uint_eq(n, 77);
    ck_assert_int_eq(memcmp(wide, untouched, sizeof(wide)), 0);
    ck_assert_int_eq(heed_plan_operands(plan, NULL, 0, sizeof(heed_operand), &n), HEED_OK);
    ck_assert_uint_eq(n, OPERANDS);
    /* A caller whose struct is longer than the library's: what is not known is 0. */
    ck_assert_int_eq(heed_plan_operands(plan, &wide[0].operand, 2, sizeof(*wide), NULL), HEED_OK);
    ck_assert_str_eq(wide[1].operand.name, "o");
    ck_assert_uint_eq(wide[1].more, 0);
    ck_assert_int_eq(memcmp(&wide[2], &untouched[2], (OPERANDS - 2) * sizeof(*wide)), 0);
    heed_plan_drop(plan);
}

/* ---- runs ---- */

/* push reads and writes its rows. */
static heed_plan *push(uint32_t flags)
{
    heed_push_desc desc = { .size = sizeof(desc), .flags = flags,
                            .rows = reversed(HEED_F32, B, H, NK, D),
                            .head = { .dtype = HEED_I64, .ndim = 1, .shape = { B },
                                      .stride = { -1 } },
                            .len = { .dtype = HEED_I64, .ndim = 1, .shape = { B },
                                     .stride = { 1 } },
                            .x = reversed(HEED_F32, B, H, N, D) };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_push_plan(device, &desc, &plan, &report) >= 0, "%s", report.message);
    return plan;
}

enum { MOST = 8 };

/* Memory of just the bytes that an operand names, not a byte longer: AddressSanitizer looks. */
struct memory {
    heed_operand operands[MOST];
    heed_buf at[MOST];
    void *block[MOST];
    uint32_t n;
};

static float first(uint32_t operand)
{
    return 1000 * (float)(operand + 1);
}

static void memory_open(struct memory *m, const heed_plan *plan)
{
    ck_assert_int_eq(heed_plan_operands(plan, m->operands, MOST, sizeof(*m->operands), &m->n),
                     HEED_OK);
    ck_assert_uint_le(m->n, MOST);
    for (uint32_t i = 0; i < m->n; i++) {
        const heed_operand *x = &m->operands[i];
        const size_t bytes = (size_t)(x->high - x->low);

        m->block[i] = calloc(1, bytes + (bytes == 0));
        m->at[i] = (heed_buf){ .handle = bytes > 0 ? (char *)m->block[i] - x->low : NULL };
        for (size_t j = 0; x->tensor.dtype == HEED_F32 && j < bytes / sizeof(float); j++)
            ((float *)m->block[i])[j] = first(i) + (float)j;
    }
}

static void memory_close(struct memory *m)
{
    while (m->n > 0)
        free(m->block[--m->n]);
}

static uint32_t named(const struct memory *m, const char *name)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (strcmp(m->operands[i].name, name) == 0)
            return i;
    }
    ck_abort_msg("no operand %s", name);
}

TEST(a_run_touches_no_byte_more)
{
    heed_plan *plan = push(HEED_PLAN_OWN_WORKSPACE);
    struct memory m;

    memory_open(&m, plan);
    ck_assert_uint_eq(m.operands[named(&m, "rows")].role, HEED_ROLE_STATE);
    ck_assert_msg(heed_plan_run(plan, queue, m.at, m.n, NULL, NULL, &report) >= 0, "%s: %s",
                  report.field, report.message);
    memory_close(&m);
    heed_plan_drop(plan);
}

/* The same bytes by operands and by the arguments of the operation. */
TEST(a_run_by_operands_is_the_run_by_name)
{
    heed_plan *plan = push(HEED_PLAN_OWN_WORKSPACE);
    heed_push_args args = { .size = sizeof(args) };
    struct memory a, b;
    uint32_t rows, written = 0;

    memory_open(&a, plan);
    memory_open(&b, plan);
    rows = named(&b, "rows");
    args.rows = b.at[rows];
    args.head = b.at[named(&b, "head")];
    args.len = b.at[named(&b, "len")];
    args.x = b.at[named(&b, "x")];
    ck_assert_int_eq(heed_plan_run(plan, queue, a.at, a.n, NULL, NULL, &report), HEED_OK);
    ck_assert_int_eq(heed_push_run(plan, queue, &args, NULL, &report), HEED_OK);
    for (uint32_t i = 0; i < a.n; i++) {
        const size_t bytes = (size_t)(a.operands[i].high - a.operands[i].low);

        ck_assert_int_eq(memcmp(a.block[i], b.block[i], bytes), 0);
    }
    for (int64_t j = 0; j < (a.operands[rows].high - a.operands[rows].low) / 4; j++)
        written += ((float *)a.block[rows])[j] != first(rows) + (float)j;
    ck_assert_uint_eq(written, B * H * N * D);
    memory_close(&a);
    memory_close(&b);
    heed_plan_drop(plan);
}

static void refuses(const heed_plan *plan, const struct memory *m, const heed_buf *at, uint32_t n,
                    const heed_run *run, heed_status wanted, const char *field)
{
    heed_event *event = NULL;

    ck_assert_int_eq(heed_plan_run(plan, queue, at, n, run, &event, &report), wanted);
    ck_assert_int_eq(report.status, wanted);
    ck_assert_str_eq(report.field, field);
    ck_assert_ptr_null(event);
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->operands[i].tensor.dtype == HEED_F32 && m->operands[i].high != 0)
            ck_assert_float_eq(((float *)m->block[i])[1], first(i) + 1);
    }
}

TEST(wrong_runs_are_refused_by_name_and_write_nothing)
{
    heed_plan *plan = push(HEED_PLAN_OWN_WORKSPACE);
    const heed_run odd = { .reserved = 1 };
    heed_buf at[MOST];
    struct memory m;
    uint32_t rows, x;

    memory_open(&m, plan);
    rows = named(&m, "rows");
    x = named(&m, "x");
    refuses(NULL, &m, m.at, m.n, NULL, HEED_E_NULL, "plan");
    refuses(plan, &m, NULL, m.n, NULL, HEED_E_NULL, "at");
    refuses(plan, &m, m.at, m.n - 1, NULL, HEED_E_VALUE, "n");
    ck_assert_int_eq(report.wanted, m.n);
    ck_assert_int_eq(report.got, m.n - 1);
    refuses(plan, &m, m.at, m.n + 1, NULL, HEED_E_VALUE, "n");
    refuses(plan, &m, m.at, m.n, &odd, HEED_E_VALUE, "run.reserved");
    memcpy(at, m.at, sizeof(at));
    at[x].handle = NULL;
    refuses(plan, &m, at, m.n, NULL, HEED_E_NULL, "x");
    at[x].handle = (char *)m.at[x].handle + 1;
    refuses(plan, &m, at, m.n, NULL, HEED_E_ALIGN, "x");
    at[x] = m.at[rows];
    refuses(plan, &m, at, m.n, NULL, HEED_E_ALIAS, "rows");
    ck_assert_int_eq(heed_plan_run(plan, NULL, m.at, m.n, NULL, NULL, &report), HEED_E_NULL);
    ck_assert_str_eq(report.field, "queue");
    memory_close(&m);
    heed_plan_drop(plan);
}

int main(void)
{
    return suite_run("operands", 0, before, after);
}
