/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every function of heed_act over all numbers of binary32: within the error that heed/nn.h states,
 * against the C library's functions in double, and the same bits on the reference and the
 * processor. A walk takes each 16,381st number, in the suite rest each 509th, and with
 * HEED_TEST_FULL=1 all of them, for two hours of a processor.
 */
#include "support/suite.h"

#include <heed/nn.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 4096 };

static const double root_half = 0.70710678118654752440;

static double relu(double x) { return x > 0 ? x : 0; }
static double gelu(double x) { return x * erfc(-x * root_half) / 2; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double elu_plus_one(double x) { return x > 0 ? x + 1 : exp(x); }
static double inverse(double x) { return 1 / x; }

static double gelu_tanh(double x)
{
    return x / (1 + exp(-2 * sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

/* Largest errors: shares of |x| and of |f(x)|, 0: none is stated; the least of both from -5.5 to 0
 * where both are, else that of |x|. */
static const struct function {
    const char *name;
    uint32_t kind;
    double (*f)(double);
    double of_x, of_value;
} functions[] = {
    { "RELU", HEED_ACT_RELU, relu, 0, 0 },
    { "GELU", HEED_ACT_GELU, gelu, 1.1e-7, 5e-7 },
    { "GELU_TANH", HEED_ACT_GELU_TANH, gelu_tanh, 1.6e-7, 0 },
    { "SILU", HEED_ACT_SILU, silu, 1.5e-7, 0 },
    { "TANH", HEED_ACT_TANH, tanh, 0, 1.8e-7 },
    { "SIGMOID", HEED_ACT_SIGMOID, sigmoid, 0, 2.2e-7 },
    { "EXP", HEED_ACT_EXP, exp, 0, 1.2e-7 },
    { "ELU_PLUS_ONE", HEED_ACT_ELU_PLUS_ONE, elu_plus_one, 0, 1.2e-7 },
    { "INVERSE", HEED_ACT_INVERSE, inverse, 0, 0x1p-24 },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const char *const names[] = { "reference", "cpu" };
enum { DEVICES = sizeof names / sizeof *names };

static float x[ROOM], y[DEVICES][ROOM];

static double bound_of(const struct function *f, double at, double want)
{
    const double subnormal = fabs(want) < (double)FLT_MIN && want != 0 ? 0x1p-149 : 0;
    double bound = fabs(at) * f->of_x;

    if (f->of_x == 0)
        bound = fabs(want) * f->of_value;
    else if (f->of_value > 0 && at >= -5.5 && at < 0)
        bound = fmin(bound, fabs(want) * f->of_value);
    return bound + subnormal;
}

/* The share of its bound that the error is; NaN stays NaN, and of an infinity the limit is no
 * business of an error. */
static double share_of(const struct function *f, double at, double got)
{
    const double want = f->f(at), bound = bound_of(f, at, want), error = fabs(got - want);

    if (isnan(at))
        return isnan(got) ? 0 : (double)INFINITY;
    if (isinf(at) || got == want || (isinf(got) && fabs(want) + bound >= 0x1.ffffffp127))
        return 0;
    return error > 0 ? error / bound : 0;
}

static uint32_t step_of(void)
{
    return getenv("HEED_TEST_FULL") ? 1 : suite_all() ? 509 : 16381;
}

/* The next numbers, from word `first` on: how many. */
static int64_t draw(uint64_t first)
{
    int64_t n = 0;

    for (uint64_t word = first; n < ROOM && word >> 32 == 0; word += step_of(), n++) {
        const uint32_t bits = (uint32_t)word;

        memcpy(&x[n], &bits, sizeof bits);
    }
    return n;
}

static void apply(heed_device *device, uint32_t kind, float *out)
{
    const heed_array from = heed_array4(HEED_F32, x, 1, 1, 1, ROOM);
    const heed_array to = heed_array4(HEED_F32, out, 1, 1, 1, ROOM);
    const heed_act_desc desc = { .size = sizeof desc, .kind = kind, .x = from.t, .y = to.t };
    const heed_act_args args = { .size = sizeof args, .x = from.buf, .y = to.buf };
    heed_report why = { .size = sizeof why };
    heed_queue *queue = NULL;
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &why), HEED_OK);
    ck_assert_int_eq(heed_act_plan(device, &desc, &plan, &why), HEED_OK);
    ck_assert_int_eq(heed_act_run(plan, queue, &args, NULL, &why), HEED_OK);
    ck_assert_int_eq(heed_queue_wait(queue, &why), HEED_OK);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);
}

LOOP_TEST(functions_are_within_their_errors, FUNCTIONS)
{
    const struct function *const f = &functions[_i];
    const heed_runtime_desc desc = { .size = sizeof desc };
    heed_device *devices[DEVICES];
    heed_runtime *runtime = NULL;
    double most = 0;
    int64_t n, all = 0;

    ck_assert_int_eq(heed_runtime_create(&desc, &runtime, NULL), HEED_OK);
    for (int i = 0; i < DEVICES; i++)
        ck_assert_int_eq(heed_device_find(runtime, names[i], &devices[i], NULL), HEED_OK);
    for (uint64_t first = 0; (n = draw(first)) > 0; first += (uint64_t)n * step_of(), all += n) {
        for (int i = 0; i < DEVICES; i++)
            apply(devices[i], f->kind, y[i]);
        ck_assert_mem_eq(y[0], y[1], sizeof *y);
        for (int64_t i = 0; i < n; i++) {
            const double share = share_of(f, (double)x[i], (double)y[0][i]);

            ck_assert_msg(share <= 1, "%s(%a): %a is %g of the error that may be", f->name,
                          (double)x[i], (double)y[0][i], share);
            most = fmax(most, share);
        }
    }
    printf("%s: %" PRId64 " numbers, error at most %.3f of what is stated\n", f->name, all, most);
    heed_runtime_destroy(runtime);
}

int main(void)
{
    return suite_run("functions", getenv("HEED_TEST_FULL") ? 20000 : 600, NULL, NULL);
}
