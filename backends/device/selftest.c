/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * May a device call itself EXACT? What it says of itself does not tell (one that claims no fma has
 * a right one), so it is asked: a few hundred sets of operands through every step, against the same
 * text compiled for the host. The operands are chosen for what goes wrong: contraction and its
 * absence, subnormals flushed, rounding at ties, conversions, NaN in comparisons.
 */
#define HK_VECTORS 1
#include "selftest.h"

#include "../kernels/attn/blob.h"
#include "../kernels/selftest/selftest.h"
#include "device.h"

#include <fenv.h>
#include <string.h>

enum { SETS = HEED_TEST_GROUPS * HK_TEST_LANES, OUTPUTS = HEED_TEST_GROUPS * HK_TEST_WORDS };

/* ---- inputs ---- */

static const hk_u32 special[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, /* 0, 1 */
    0x00000001, 0x80000001, 0x007fffff, 0x807fffff, /* subnormals */
    0x00800000, 0x80800000, 0x00ffffff, 0x01000000, /* the smallest normals */
    0x7f7fffff, 0xff7fffff, 0x7f000000, 0x7e800001, /* the largest */
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, /* infinity, NaN */
    0x7fffffff, 0x7f800001,                         /* NaN: all ones, signalling */
    0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000, /* 0.5, 1.5, 2.5, -0.5: ties of rint */
    0x3effffff, 0x3f000001, 0x4afffffe, 0x4affffff, /* beside 0.5; near 2^22 */
    0x4b000001, 0xcb000001, 0x4b7fffff, 0x4b800001, /* near 2^23, 2^24 */
    0x477fefff, 0x477ff000, 0x477fe000, 0x47800000, /* where f16 overflows */
    0x387fffff, 0x38800000, 0x387fe000, 0x387fd000, /* its smallest normal */
    0x33000000, 0x33000001, 0x33c00000, 0x32ffffff, /* 2^-25: the tie of its smallest */
    0x3f801000, 0x3f803000, 0x3f802fff, 0x3f803001, /* ties of f16 */
    0x3f808000, 0x3f818000, 0x3f817fff, 0x7f7f8000, /* ties of bf16 */
    0x3f200000, 0x3f1fffff, 0xbf200000, 0x41200000, /* 0.625, 10: borders of tanh */
    0xc2c80000, 0xc2c7ffff, 0xc2ca0000, 0x42c80000, /* 100: where weights end */
    0x3effffff, 0x3fffffff, 0x407fffff, 0x5f7fffff, /* the mantissa that recip corrects */
    0x3f3504f3, 0x3f3504f4, 0x3fb504f3, 0x3fb504f2, /* sqrt 1/2, sqrt 2: borders of ln */
};
enum { SPECIAL = sizeof(special) / sizeof(special[0]) };

/* Mostly: a * b + c in one rounding is not what two roundings give. */
static const hk_u32 cancelling[][3] = {
    { 0x3f800800, 0x3f800800, 0xbf801000 }, { 0x3f7ff000, 0x3f801000, 0xbf800000 },
    { 0x3f800001, 0x3f800001, 0xbf800002 }, { 0x3f800001, 0x3f7fffff, 0xbf800000 },
    { 0x4b800001, 0x4b800001, 0xd7800002 }, { 0x1f800001, 0x1f800001, 0x80000000 },
    { 0x20000001, 0x1f800003, 0x80800000 }, { 0x7f000000, 0x40000000, 0xff7fffff },
    { 0x3f800001, 0x00800000, 0x80800000 }, { 0x3fffffff, 0x3fffffff, 0xc07ffffe },
    { 0x00000001, 0x3f000000, 0x00000001 }, { 0x00ffffff, 0x3f000000, 0x00000000 },
    { 0x5f000001, 0x5f000001, 0xff000000 }, { 0x40490fdb, 0x3ea2f983, 0xbf800000 },
    { 0x3eaaaaab, 0x40400000, 0xbf800000 }, { 0x3dcccccd, 0x41200000, 0xbf800000 },
    /* Sums and differences below the normal numbers. */
    { 0x00800001, 0x80800000, 0x00000001 }, { 0x01000000, 0x80ffffff, 0x80000001 },
    { 0x00800000, 0x00000001, 0x007fffff }, { 0x00c00000, 0x00a00000, 0x80400000 },
    { 0x00000003, 0x80000001, 0x00000002 }, { 0x007fffff, 0x00000001, 0x80000001 },
};
enum { CANCELLING = sizeof(cancelling) / sizeof(cancelling[0]) };

static const hk_u16 halves[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0200, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x3555, 0x0155, 0x7f80, 0xff80, 0x7fc0, 0x007f,
    0x0080, 0x3f80, 0x7f7f, 0x0002, 0x03fe, 0x2e66, 0xd640, 0x5bff,
};
enum { HALVES = sizeof(halves) / sizeof(halves[0]) };

static hk_u32 next(hk_u32 *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random ^ *random >> 15;
}

/* Operands as they occur: exponents near that of 1, now and then far from it. */
static float ordinary(hk_u32 *random)
{
    const hk_u32 word = next(random), span = next(random) % 8 == 0 ? 200 : 24;

    return hk_float((word & 0x807fffffu) | (127 - span / 2 + next(random) % span) << 23);
}

static float divisor(float a, hk_u32 *random)
{
    const hk_u32 exponent = 124 + next(random) % 67;

    return a == a ? hk_float((hk_word(a) & 0x7fffffu) | exponent << 23) : a;
}

/* Rows of matrices, of the operands and what lies between them. */
static void rows_fill(struct hk_test_input *in, hk_u32 *random)
{
    enum { ROW = sizeof in->row / sizeof in->row[0] };

    for (hk_u32 i = 0; i < ROW; i++) {
        in->row[i] = i < HK_TEST_LANES ? in->a[i] : ordinary(random);
        in->half_row[i] =
            i < HK_TEST_LANES ? in->half_word[i] : (hk_u16)(next(random) & 0xffffu);
    }
}

void heed_self_test_inputs(struct hk_test_input *in)
{
    hk_u32 random = 20261121, rows = 20261122;

    for (hk_u32 i = 0; i < SETS; i++) {
        struct hk_test_input *to = &in[i / HK_TEST_LANES];
        const hk_u32 lane = i % HK_TEST_LANES, k = i - CANCELLING;

        to->a[lane] = ordinary(&random);
        to->b[lane] = ordinary(&random);
        to->c[lane] = ordinary(&random);
        if (i < CANCELLING) {
            to->a[lane] = hk_float(cancelling[i][0]);
            to->b[lane] = hk_float(cancelling[i][1]);
            to->c[lane] = hk_float(cancelling[i][2]);
        } else if (k < 3 * SPECIAL) {
            to->a[lane] = hk_float(special[k % SPECIAL]);
            if (k >= SPECIAL)
                to->b[lane] = hk_float(special[(k * 7 + k / SPECIAL) % SPECIAL]);
            if (k >= 2 * SPECIAL)
                to->c[lane] = hk_float(special[(k * 11 + 5) % SPECIAL]);
        }
        to->divisor[lane] = divisor(to->a[lane], &random);
        to->half_word[lane] =
            (hk_u16)(i < HALVES ? halves[i] : i < 2 * HALVES ? next(&random) & 0x83ffu
                                                             : next(&random) & 0xffffu);
        to->byte[lane] = (hk_i8)((int32_t)(i % 256) - 128);     /* all of them */
        if (lane == HK_TEST_LANES - 1)
            rows_fill(to, &rows);
    }
}

void heed_self_test_expect(const struct hk_test_input *in, uint32_t groups, uint32_t *out)
{
    fenv_t caller;

    memset(out, 0, (size_t)groups * HK_TEST_WORDS * sizeof(*out));
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    for (hk_u32 group = 0; group < groups; group++)
        hk_test_group(in + group, out + group * HK_TEST_WORDS);
    fesetenv(&caller);
}

/* ---- judgement ---- */

static const char *const reasons[HK_TEST_STEPS] = {
    [HK_TEST_FMA] = "fma is not that of IEEE 754",
    [HK_TEST_ADD] = "add is not rounded to nearest even",
    [HK_TEST_SUB] = "subtraction is not rounded to nearest even",
    [HK_TEST_MUL] = "multiplication is not rounded to nearest even",
    [HK_TEST_RINT] = "rint is not rounded to nearest even",
    [HK_TEST_COMPARE] = "comparisons differ, of NaN or of subnormals",
    [HK_TEST_FROM_F16] = "f16 is not widened exactly",
    [HK_TEST_FROM_BF16] = "bf16 is not widened exactly",
    [HK_TEST_FROM_I8] = "i8 is not widened exactly",
#define SMALL(NAME, name, number, elements, bytes, arg)                                            \
    [HK_TEST_FROM_##NAME] = #name " is not widened exactly",                                       \
    [HK_TEST_TO_##NAME] = "rounding to " #name " differs",
    HK_SMALL_TYPES(SMALL, 0)
#undef SMALL
    [HK_TEST_TO_F16] = "rounding to f16 differs",
    [HK_TEST_TO_BF16] = "rounding to bf16 differs",
    [HK_TEST_FROM_I64] = "integers are not converted to nearest even",
    [HK_TEST_CANONICAL] = "NaN or -0 does not become canonical",
    [HK_TEST_POWER] = "powers of two differ",
    [HK_TEST_WEIGHT] = "weights of the softmax differ",
    [HK_TEST_INVERSE] = "reciprocals are not correctly rounded",
    [HK_TEST_TANH] = "the softcap's tanh differs",
    [HK_TEST_LSE] = "the logarithm of a row's sum differs",
    [HK_TEST_INVERSE_ROOT] = "the inverse of a square root differs",
    [HK_TEST_EXP] = "powers of e differ",
    [HK_TEST_SIGMOID] = "the sigmoid differs",
    [HK_TEST_GELU] = "the normal distribution of gelu differs",
};
/* Of several steps that belong together the first has the reason. */
static const char *const vector_reasons[HK_TEST_V_STEPS] = {
    [HK_TEST_V_FMA] = "fma of vectors is not that of IEEE 754",
    [HK_TEST_V_ADD] = "add of vectors is not rounded to nearest even",
    [HK_TEST_V_SUB] = "subtraction of vectors is not rounded to nearest even",
    [HK_TEST_V_MUL] = "multiplication of vectors is not rounded to nearest even",
    [HK_TEST_V_RINT] = "rint of vectors is not rounded to nearest even",
    [HK_TEST_V_COMPARE] = "comparisons of vectors differ",
    [HK_TEST_V_ACROSS] = "extremes and masks across a vector differ",
    [HK_TEST_V_FROM_F16] = "f16 is not widened exactly in vectors",
    [HK_TEST_V_FROM_BF16] = "bf16 is not widened exactly in vectors",
    [HK_TEST_V_FROM_I8] = "i8 is not widened exactly in vectors",
#define SMALL(NAME, name, number, elements, bytes, arg)                                            \
    [HK_TEST_V_FROM_##NAME] = #name " is not widened exactly in vectors",                          \
    [HK_TEST_V_TO_##NAME] = "rounding to " #name " differs in vectors",
    HK_SMALL_TYPES(SMALL, 0)
#undef SMALL
    [HK_TEST_V_TO_F16] = "rounding to f16 differs in vectors",
    [HK_TEST_V_TO_BF16] = "rounding to bf16 differs in vectors",
    [HK_TEST_V_WEIGHT] = "weights of the softmax differ in vectors",
    [HK_TEST_V_INVERSE] = "reciprocals of vectors are not correctly rounded",
    [HK_TEST_V_TANH] = "the softcap's tanh differs in vectors",
    [HK_TEST_V_EXP] = "powers of e differ in vectors",
    [HK_TEST_V_SIGMOID] = "the sigmoid differs in vectors",
    [HK_TEST_V_GELU] = "the normal distribution of gelu differs in vectors",
    [HK_TEST_V_PAIRS] = "vectors of bf16 are not parted and joined by pairs",
    [HK_TEST_V_PACK] = "rows of f32 are not transposed",
    [HK_TEST_V_PACK_F16] = "rows of f16 are not transposed and widened exactly",
    [HK_TEST_V_PACK_BF16] = "rows of bf16 are not transposed and widened exactly",
};

static int is_nan(hk_u32 word)
{
    return (word & 0x7fffffffu) > 0x7f800000u;
}

static int is_subnormal(hk_u32 word)
{
    return (word & 0x7f800000u) == 0 && (word & 0x7fffffu) != 0;
}

/* Results that are patterns or counts; the others are floats, whose NaNs are all alike. */
static int is_pattern(hk_u32 step)
{
#define IS_PATTERN(NAME, name, number, elements, bytes, arg) step == HK_TEST_TO_##NAME ||
    return HK_SMALL_TYPES(IS_PATTERN, 0) step == HK_TEST_COMPARE || step == HK_TEST_TO_F16 ||
           step == HK_TEST_TO_BF16 || step == HK_TEST_CANONICAL;
#undef IS_PATTERN
}

static int same(hk_u32 wanted, hk_u32 got, int pattern)
{
    return wanted == got || (!pattern && is_nan(wanted) && is_nan(got));
}

struct judged {
    const struct hk_test_input *in;
    hk_u32 groups;
    const uint32_t *wanted, *got;
};

/* The two ways to be wrong that have names, for the four operations: the first steps, with and
 * without vectors. */
static const char *operation_reason(const struct judged *j, hk_u32 step, hk_u32 at,
                                    const char *reason)
{
    hk_u32 wrong = 0, flushed = 0, parted = 0;

    for (hk_u32 i = 0; i < j->groups * HK_TEST_LANES; i++) {
        const struct hk_test_input *in = &j->in[i / HK_TEST_LANES];
        const hk_u32 lane = i % HK_TEST_LANES,
                     place = i / HK_TEST_LANES * HK_TEST_WORDS + at + lane;
        const hk_u32 wanted = j->wanted[place], got = j->got[place];
        const float a = in->a[lane], b = in->b[lane], c = in->c[lane];
        const int reads = is_subnormal(hk_word(a)) || is_subnormal(hk_word(b)) ||
                          (step == HK_TEST_FMA && is_subnormal(hk_word(c)));

        if (same(wanted, got, 0))
            continue;
        wrong++;
        flushed += (is_subnormal(wanted) && (got & 0x7fffffffu) == 0) || reads ? 1 : 0;
        parted += step == HK_TEST_FMA && same(hk_word(hk_add(hk_mul(a, b), c)), got, 0) ? 1 : 0;
    }
    if (step <= HK_TEST_MUL && wrong == flushed)
        return "subnormals are flushed";
    return step == HK_TEST_FMA && wrong == parted ? "fma is not fused" : reason;
}

/* The words of one step: at, its place in a group's output. */
static const char *step_judge(const struct judged *j, hk_u32 step, hk_u32 at, int pattern,
                              const char *reason)
{
    for (hk_u32 i = 0; i < j->groups * HK_TEST_LANES; i++) {
        const hk_u32 place = i / HK_TEST_LANES * HK_TEST_WORDS + at + i % HK_TEST_LANES;

        if (!same(j->wanted[place], j->got[place], pattern))
            return operation_reason(j, step, at, reason);
    }
    return "";
}

static const char *vector_reason(hk_u32 step)
{
    while (vector_reasons[step] == NULL)
        step--;
    return vector_reasons[step];
}

static const char *judge(const struct judged *j)
{
    const hk_u32 mark = j->got[0];
    const char *reason = "";

    for (hk_u32 group = 0; group < j->groups; group++) {
        if (mark >> 1 != HK_TEST_MARK >> 1 || j->got[group * HK_TEST_WORDS] != mark)
            return "the self-test wrote nothing";
    }
    for (hk_u32 step = 0; step < HK_TEST_STEPS && reason[0] == '\0'; step++)
        reason = step_judge(j, step, HK_TEST_SCALARS + step * HK_TEST_LANES, is_pattern(step),
                            reasons[step]);
    if (!(mark & 1))
        return reason;
    for (hk_u32 step = 0; step < HK_TEST_V_STEPS && reason[0] == '\0'; step++)
        reason = step_judge(j, step, HK_TEST_VECTORS + step * HK_TEST_LANES, 0,
                            vector_reason(step));
    return reason;
}

const char *heed_self_test_judge(const struct hk_test_input *in, uint32_t groups,
                                 const uint32_t *wanted, const uint32_t *got)
{
    const struct judged judged = { .in = in, .groups = groups, .wanted = wanted, .got = got };
    fenv_t caller;
    const char *reason;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    reason = judge(&judged);
    fesetenv(&caller);
    return reason;
}

/* ---- a run ---- */

struct device_side {
    heed_device *device;
    const struct heed_backend_offload *offload;
    const struct heed_device_state *state;
    void *blob, *output, *queue;
};

static heed_status take(struct device_side *d, const struct heed_test_sheet *sheet,
                        struct heed_error_detail *detail)
{
    const struct heed_driver *driver = d->state->driver;
    heed_status status = driver->memory_create(d->device->state, sheet->blob_bytes, sheet->blob,
                                               &d->blob, detail);

    if (status >= 0)
        status = d->offload->buf_create(d->device, sheet->got_bytes, &d->output, detail);
    if (status >= 0)
        status = d->offload->queue_create(d->device, NULL, 0, &d->queue, detail);
    if (status >= 0)
        status = d->offload->buf_write(d->device, d->queue, d->output, 0, sheet->got,
                                       sheet->got_bytes, detail);
    return status;
}

static heed_status run(struct device_side *d, const struct heed_test_sheet *sheet,
                       struct heed_error_detail *detail)
{
    const struct heed_driver *driver = d->state->driver;
    struct heed_kernel_launch launch = sheet->launch;
    struct heed_work work = {
        .launches = &launch,
        .n_launches = 1,
        .n_buffers = HEED_BUFFERS_SMALL,
        .blob = d->blob,
        .buffers = { [1] = { .handle = d->output } },
        .queue = d->queue,
    };
    heed_status status =
        driver->kernel(d->device->state, launch.kernel, 0, &launch.compiled, detail);

    if (status >= 0)
        status = driver->run(d->device->state, &work, detail);
    if (status >= 0)
        status = d->offload->queue_wait(d->device, d->queue, detail);
    if (status >= 0)
        status = d->offload->buf_read(d->device, d->queue, sheet->got, d->output, 0,
                                      sheet->got_bytes, detail);
    return status;
}

static void give_back(const struct device_side *d)
{
    if (d->queue != NULL)
        d->offload->queue_destroy(d->device, d->queue);
    if (d->output != NULL)
        d->offload->buf_destroy(d->device, d->output);
    if (d->blob != NULL)
        d->state->driver->memory_destroy(d->device->state, d->blob);
}

heed_status heed_device_test(heed_device *device, const struct heed_backend_offload *offload,
                             const struct heed_test_sheet *sheet,
                             struct heed_error_detail *detail)
{
    struct device_side d = { .device = device, .offload = offload, .state = device->state };
    heed_status status = take(&d, sheet, detail);

    if (status >= 0)
        status = run(&d, sheet, detail);
    give_back(&d);
    return status;
}

/* The host's side in one block. */
struct sheet {
    struct {
        struct hk_plan plan;
        struct hk_test_input in[HEED_TEST_GROUPS];
    } blob;
    uint32_t wanted[OUTPUTS], got[OUTPUTS];
};

heed_status heed_device_self_test(heed_device *device, const struct heed_backend_offload *offload,
                                  const char **reason, struct heed_error_detail *detail)
{
    const struct heed_services *services =
        ((const struct heed_device_state *)device->state)->services;
    struct sheet *sheet =
        services->alloc(services->runtime, sizeof(*sheet), _Alignof(struct sheet));
    heed_status status;

    *reason = "the self-test did not run";
    if (sheet == NULL)
        return HEED_E_NOMEM;
    memset(sheet, 0, sizeof(*sheet));
    heed_self_test_inputs(sheet->blob.in);
    heed_self_test_expect(sheet->blob.in, HEED_TEST_GROUPS, sheet->wanted);
    status = heed_device_test(
        device, offload,
        &(struct heed_test_sheet){
            .launch = { .kernel = HEED_KERNEL_self_test, .threads = 1, .groups = HEED_TEST_GROUPS },
            .blob = &sheet->blob, .blob_bytes = sizeof(sheet->blob),
            .got = sheet->got, .got_bytes = sizeof(sheet->got) },
        detail);
    if (status >= 0)
        *reason = heed_self_test_judge(sheet->blob.in, HEED_TEST_GROUPS, sheet->wanted,
                                       sheet->got);
    services->free(services->runtime, sheet, sizeof(*sheet), _Alignof(struct sheet));
    return status;
}
