/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test of devices, on a device made up here: outputs spoilt as real devices would spoil
 * them are told apart by the reason, and every failure of the way there and back is passed on, with
 * nothing kept.
 */
#include "backends/device/device.h"
#include "backends/device/selftest.h"
#include "backends/kernels/image.h"
#include "backends/kernels/selftest.h"
#include "lib/core/alloc.h"
#include "lib/core/context.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = HEED_TEST_GROUPS * HK_TEST_LANES, OUTPUTS = HEED_TEST_GROUPS * HK_TEST_WORDS };

static struct hk_test_input in[HEED_TEST_GROUPS];
static uint32_t wanted[OUTPUTS], got[OUTPUTS];

static void prepare(void)
{
    heed_self_test_inputs(in);
    heed_self_test_expect(in, HEED_TEST_GROUPS, wanted);
    memcpy(got, wanted, sizeof(got));
}

static const char *judge(void)
{
    return heed_self_test_judge(in, HEED_TEST_GROUPS, wanted, got);
}

/* The word of operand set i for a step. */
static uint32_t *word(uint32_t *out, uint32_t i, uint32_t step)
{
    return &out[i / 16 * HK_TEST_WORDS + HK_TEST_SCALARS + step * 16 + i % 16];
}

static uint32_t *vector_word(uint32_t *out, uint32_t i, uint32_t step)
{
    return &out[i / 16 * HK_TEST_WORDS + HK_TEST_VECTORS + step * 16 + i % 16];
}

static int is_nan(uint32_t w)
{
    return (w & 0x7fffffff) > 0x7f800000;
}

static uint32_t flushed(uint32_t w)
{
    return (w & 0x7f800000) == 0 ? w & 0x80000000 : w;
}

/* ---- the inputs ---- */

TEST(inputs_meet_what_goes_wrong)
{
    int unfused = 0, subnormal = 0, nan = 0, ties = 0, finite = 0;

    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const float a = in[i / 16].a[i % 16], b = in[i / 16].b[i % 16], c = in[i / 16].c[i % 16];
        const float sum = hk_add(hk_mul(a, b), c), r = in[i / 16].divisor[i % 16];
        const uint32_t fma = *word(wanted, i, HK_TEST_FMA);

        unfused += hk_word(sum) != fma && !is_nan(fma);
        subnormal += fma != flushed(fma);
        nan += is_nan(hk_word(a)) || is_nan(hk_word(b)) || is_nan(hk_word(c));
        ties += a == (float)(int64_t)(a < 1e6f && a > -1e6f ? a : 0) + 0.5f;
        finite += !is_nan(hk_word(a - a) | hk_word(b - b));
        ck_assert(!(r == r) || (r >= 0.125f && r < 0x1p64f));
    }
    ck_assert_int_gt(unfused, 20);
    ck_assert_int_gt(subnormal, 5);
    ck_assert_int_gt(nan, 12);
    ck_assert_int_gt(ties, 3);
    ck_assert_int_gt(finite, 200);
}

TEST(every_step_has_several_answers)
{
    prepare();
    for (uint32_t step = 0; step < HK_TEST_STEPS; step++) {
        int different = 0;

        for (uint32_t i = 1; i < SETS; i++)
            different += *word(wanted, i, step) != *word(wanted, i - 1, step);
        ck_assert_msg(different > 30, "step %u: %d", step, different);
    }
    for (uint32_t step = 0; step < HK_TEST_V_STEPS; step++) {
        int different = 0;

        for (uint32_t i = 1; i < SETS; i++)
            different += *vector_word(wanted, i, step) != *vector_word(wanted, i - 1, step);
        ck_assert_msg(different > 30, "vector step %u: %d", step, different);
    }
}

/* Vectors on the host: the scalar functions' bits. */
TEST(vectors_agree_with_scalars)
{
    static const uint32_t pairs[][2] = {
        { HK_TEST_FMA, HK_TEST_V_FMA }, { HK_TEST_ADD, HK_TEST_V_ADD },
        { HK_TEST_SUB, HK_TEST_V_SUB }, { HK_TEST_MUL, HK_TEST_V_MUL },
        { HK_TEST_RINT, HK_TEST_V_RINT }, { HK_TEST_WEIGHT, HK_TEST_V_WEIGHT },
        { HK_TEST_INVERSE, HK_TEST_V_INVERSE }, { HK_TEST_TANH, HK_TEST_V_TANH },
    };

    prepare();
    for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
        for (uint32_t i = 0; i < SETS; i++) {
            const uint32_t a = *word(wanted, i, pairs[p][0]);
            const uint32_t b = *vector_word(wanted, i, pairs[p][1]);

            ck_assert_msg(a == b || (is_nan(a) && is_nan(b)), "pair %zu, set %u: %08x %08x", p, i,
                          a, b);
        }
    }
}

/* ---- judgement ---- */

TEST(the_hosts_own_answers_are_right)
{
    prepare();
    ck_assert_str_eq(judge(), "");
    for (uint32_t i = 0; i < SETS; i++) {       /* payloads are left open */
        if (is_nan(*word(got, i, HK_TEST_FMA)))
            *word(got, i, HK_TEST_FMA) = 0xff812345;
    }
    ck_assert_str_eq(judge(), "");
}

TEST(nothing_written_is_no_answer)
{
    prepare();
    memset(got, 0, sizeof(got));
    ck_assert_str_eq(judge(), "the self-test wrote nothing");
    prepare();
    got[(HEED_TEST_GROUPS - 1) * HK_TEST_WORDS] = 0;
    ck_assert_str_eq(judge(), "the self-test wrote nothing");
}

/* A device without vectors writes none, and is not asked for them. */
TEST(vectors_may_be_absent)
{
    prepare();
    for (uint32_t group = 0; group < HEED_TEST_GROUPS; group++) {
        got[group * HK_TEST_WORDS] = HK_TEST_MARK;
        memset(&got[group * HK_TEST_WORDS + HK_TEST_VECTORS], 0, HK_TEST_V_STEPS * 16 * 4);
    }
    ck_assert_str_eq(judge(), "");
    *word(got, 0, HK_TEST_ADD) ^= 1;
    ck_assert_str_eq(judge(), "add is not rounded to nearest even");
}

TEST(two_roundings_are_named)
{
    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const struct hk_test_input *g = &in[i / 16];

        *word(got, i, HK_TEST_FMA) =
            hk_word(hk_add(hk_mul(g->a[i % 16], g->b[i % 16]), g->c[i % 16]));
    }
    ck_assert_str_eq(judge(), "fma is not fused");
    *word(got, 0, HK_TEST_FMA) = 0x3f800000;
    ck_assert_str_eq(judge(), "fma is not that of IEEE 754");
}

TEST(flushed_results_are_named)
{
    for (uint32_t step = HK_TEST_FMA; step <= HK_TEST_MUL; step++) {
        prepare();
        for (uint32_t i = 0; i < SETS; i++)
            *word(got, i, step) = flushed(*word(got, i, step));
        ck_assert_str_eq(judge(), "subnormals are flushed");
    }
    prepare();
    for (uint32_t i = 0; i < SETS; i++)
        *vector_word(got, i, HK_TEST_V_MUL) = flushed(*vector_word(got, i, HK_TEST_V_MUL));
    ck_assert_str_eq(judge(), "subnormals are flushed");
}

TEST(flushed_operands_are_named)
{
    prepare();
    for (uint32_t i = 0; i < SETS; i++) {
        const struct hk_test_input *g = &in[i / 16];
        const float a = hk_float(flushed(hk_word(g->a[i % 16])));
        const float b = hk_float(flushed(hk_word(g->b[i % 16])));

        *word(got, i, HK_TEST_ADD) = flushed(hk_word(hk_add(a, b)));
        *word(got, i, HK_TEST_MUL) = flushed(hk_word(hk_mul(a, b)));
    }
    ck_assert_str_eq(judge(), "subnormals are flushed");
}

/* One wrong bit anywhere is found, and no two steps share a reason. */
TEST(one_wrong_bit_is_found)
{
    const char *reasons[HK_TEST_STEPS + HK_TEST_V_STEPS];
    uint32_t n = 0;

    for (uint32_t step = 0; step < HK_TEST_STEPS + HK_TEST_V_STEPS; step++) {
        for (uint32_t i = 0; i < SETS; i += 37) {
            uint32_t *spoilt;

            prepare();
            spoilt = step < HK_TEST_STEPS ? word(got, i, step)
                                          : vector_word(got, i, step - HK_TEST_STEPS);
            *spoilt = is_nan(*spoilt) ? 0x3f800000 : *spoilt ^ 1;
            ck_assert_msg(judge()[0] != '\0', "step %u, set %u", step, i);
            if (i == 37 * 12)
                reasons[n++] = judge();
        }
    }
    ck_assert_uint_eq(n, HK_TEST_STEPS + HK_TEST_V_STEPS);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            ck_assert_str_ne(reasons[i], reasons[k]);
    }
}

/* ---- the way there and back ---- */

/* The k-th call fails; what is held is counted. spoil: a bit of what is read back. */
struct world {
    struct heed_device_state state;     /* first: device->state */
    int calls, fail_at, held, spoil;
};

static heed_status step(struct world *world)
{
    return ++world->calls == world->fail_at ? HEED_E_DEVICE : HEED_OK;
}

static heed_status take(struct world *world, uint64_t bytes, void **handle)
{
    const heed_status status = step(world);

    if (status < 0)
        return status;
    *handle = malloc(bytes);
    ck_assert_ptr_nonnull(*handle);
    world->held++;
    return HEED_OK;
}

static heed_status memory_create(void *state, uint64_t bytes, const void *contents, void **handle,
                                 struct heed_error_detail *detail)
{
    const heed_status status = take(state, bytes, handle);

    (void)detail;
    if (status >= 0)
        memcpy(*handle, contents, bytes);
    return status;
}

static void memory_destroy(void *state, void *handle)
{
    ((struct world *)state)->held--;
    free(handle);
}

static heed_status kernel(void *state, enum heed_kernel row, uint32_t large, void **compiled,
                          struct heed_error_detail *detail)
{
    (void)detail;
    ck_assert_int_eq(row, HEED_KERNEL_self_test);
    ck_assert_uint_eq(large, 0);
    *compiled = state;
    return step(state);
}

static heed_status run(void *state, const struct heed_work *work, struct heed_error_detail *detail)
{
    const char *image = work->image;

    (void)detail;
    ck_assert_ptr_eq(work->steps[0].compiled, state);
    ck_assert_uint_eq(work->n_buffers, HEED_BUFFERS_SMALL);
    for (uint64_t i = 0; i < work->steps[0].groups; i++) {
        struct hk_test_input given;

        memcpy(&given, image + sizeof(struct hk_plan) + i * sizeof(given), sizeof(given));
        hk_test_group(&given, (uint32_t *)work->buffers[1].handle + i * HK_TEST_WORDS);
    }
    return step(state);
}

static const struct heed_driver driver = {
    .size = sizeof(driver),
    .memory_create = memory_create,
    .memory_destroy = memory_destroy,
    .kernel = kernel,
    .run = run,
};

static heed_status buf_create(heed_device *device, uint64_t bytes, void **handle,
                              struct heed_error_detail *detail)
{
    (void)detail;
    return take(device->state, bytes, handle);
}

static void buf_destroy(heed_device *device, void *handle)
{
    memory_destroy(device->state, handle);
}

static heed_status buf_write(heed_device *device, void *queue, void *handle, uint64_t offset,
                             const void *from, uint64_t bytes,
                             struct heed_error_detail *detail)
{
    (void)detail;
    (void)queue;
    memcpy((char *)handle + offset, from, bytes);
    return step(device->state);
}

static heed_status buf_read(heed_device *device, void *queue, void *to, void *handle,
                            uint64_t offset, uint64_t bytes, struct heed_error_detail *detail)
{
    const struct world *world = device->state;

    (void)queue;
    (void)detail;
    memcpy(to, (char *)handle + offset, bytes);
    if (world->spoil)
        *word(to, 100, HK_TEST_RINT) ^= 0x00400000;
    return step(device->state);
}

static heed_status queue_create(heed_device *device, void *native, uint32_t has_native,
                                void **queue, struct heed_error_detail *detail)
{
    (void)native;
    (void)detail;
    ck_assert_uint_eq(has_native, 0);
    return take(device->state, 1, queue);
}

static heed_status queue_wait(heed_device *device, void *queue, struct heed_error_detail *detail)
{
    (void)queue;
    (void)detail;
    return step(device->state);
}

static const struct heed_backend_offload offload = {
    .size = sizeof(offload),
    .buf_create = buf_create,
    .buf_destroy = buf_destroy,
    .buf_write = buf_write,
    .buf_read = buf_read,
    .queue_create = queue_create,
    .queue_wait = queue_wait,
    .queue_destroy = buf_destroy,
};

static heed_status try(struct world *world, const char **reason)
{
    struct ledger ledger = { 0 };
    struct heed_runtime runtime = { .allocator = ledger_allocator(&ledger) };
    const struct heed_services services = {
        .runtime = &runtime,
        .alloc = heed_alloc,
        .free = heed_free,
    };
    struct heed_device device = { .state = world };
    struct heed_error_detail detail = { .native = 0 };
    heed_status status;

    world->state = (struct heed_device_state){ .driver = &driver, .services = &services };
    world->calls = 0;
    atomic_store(&ledger.fail_at, world->fail_at == -1);
    status = heed_device_self_test(&device, &offload, reason, &detail);
    ck_assert_int_eq(world->held, 0);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    return status;
}

TEST(a_right_device_is_exact_and_a_wrong_one_is_not)
{
    struct world world = { .spoil = 0 };
    const char *reason = NULL;

    ck_assert_int_eq(try(&world, &reason), HEED_OK);
    ck_assert_str_eq(reason, "");
    ck_assert_int_eq(world.calls, 8);
    world.spoil = 1;
    ck_assert_int_eq(try(&world, &reason), HEED_OK);
    ck_assert_str_eq(reason, "rint is not rounded to nearest even");
}

TEST(every_failure_is_passed_on)
{
    const char *reason = NULL;

    for (int k = 1; k <= 8; k++) {
        struct world world = { .fail_at = k };

        ck_assert_int_eq(try(&world, &reason), HEED_E_DEVICE);
        ck_assert_int_eq(world.calls, k);
        ck_assert_str_eq(reason, "the self-test did not run");
    }
    ck_assert_int_eq(try(&(struct world){ .fail_at = -1 }, &reason), HEED_E_NOMEM);
}

int main(void)
{
    return suite_run("selftest", 0, NULL, NULL);
}
