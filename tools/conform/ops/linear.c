/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear: its table and its oracle (heed/nn.h): sums in double, with a bound on the roundings of
 * docs/numerics.md, section 15, and on those of FAST.
 */
#include "activation.h"
#include "operations.h"

#include <math.h>

enum { X, W, BIAS, ADD, Y };
enum {
    C_N = F_OWN, C_IN, C_OUT, C_KERNEL, C_STRIDE, C_TAIL, C_LEFT, C_ACT, C_END
};
enum { TAIL_FLOOR, TAIL_CEIL, TAIL_CENTRE, TAIL_END }; /* words */
/* Numbers of a problem: of the descriptor, and with its defaults. */
enum { N_KERNEL, N_STRIDE, N_LEFT, N_TAIL, N_TAPS, N_STEP, N_M };

static const double u = 0x1p-24;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 2 7 13 33 300", 1, -1, NULL },
    { "in", "8 0 1 7 16 33 64 131 256 300 600 32 96 608", 1, -1, NULL },
    { "out", "6 0 1 5 16 33 65 130 300", 1, -1, NULL },
    { "kernel", "0 1 2 3 5 40", 1, -1, NULL },
    { "stride", "0 1 2 3", 1, C_TAIL, "floor ceil centre" },
    { "tail", "floor ceil centre end", 0, -1, NULL },
    { "left", "0 1 2", 1, C_TAIL, "centre" },
    { "act", ACTIVATION_WORDS, 0, -1, NULL },
};

#define ARRAY(member)                                                                              \
    #member, offsetof(heed_linear_desc, member), offsetof(heed_linear_args, member)

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_floats, NULL },
    [W] = { ARRAY(w), MUST | IN | HEAD | HEAD_ONE, TYPE_FLOATS " " TYPE_BLOCKS, 0, NULL, 0, NULL,
            fill_floats, NULL },
    [BIAS] = { ARRAY(bias), IN, "f32 f16 bf16", 0, "none there", 0, NULL, fill_floats, NULL },
    [ADD] = { ARRAY(add), IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, "none there", 0, NULL,
              fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
};

static int64_t up(int64_t n, int64_t by)
{
    return n / by + (n % by != 0);
}

/* Rows of y, as heed/pool.h says it of windows. */
static int64_t rows_of(const struct fixed_problem *p, int64_t n)
{
    const int64_t kernel = p->n[N_TAPS], stride = p->n[N_STEP];
    const int64_t centre = kernel / 2 - p->n[N_LEFT]; /* ceil((1 + kernel) / 2) - 1 - left */

    if (kernel < 1 || stride < 1 || centre < 0)
        return 0;
    switch (p->n[N_TAIL]) {
    case HEED_TAIL_FLOOR:
        return n < kernel ? 0 : (n - kernel) / stride + 1;
    case HEED_TAIL_CEIL:
        return n == 0 ? 0 : n <= kernel ? 1 : up(n - kernel, stride) + 1;
    case HEED_TAIL_CENTRE:
        return n <= centre ? 0 : (n - 1 - centre) / stride + 1;
    default:
        return up(n, stride);
    }
}

static void numbers_find(struct fixed_problem *p)
{
    static const int64_t tails[] = { HEED_TAIL_FLOOR, HEED_TAIL_CEIL, HEED_TAIL_CENTRE,
                                     HEED_TAIL_END };
    const int64_t *v = p->c.v;
    int64_t stride = v[C_STRIDE];

    p->n[N_KERNEL] = v[C_KERNEL];
    p->n[N_TAPS] = v[C_KERNEL] ? v[C_KERNEL] : 1;
    p->n[N_TAIL] = tails[v[C_TAIL] % 4];
    if (v[C_TAIL] == TAIL_END)
        stride = p->n[N_TAPS];
    else if (v[C_TAIL] == TAIL_CEIL && stride > p->n[N_TAPS])
        stride = p->n[N_TAPS];
    p->n[N_STRIDE] = stride;
    p->n[N_STEP] = stride ? stride : 1;
    p->n[N_LEFT] = v[C_TAIL] != TAIL_CENTRE          ? 0
                   : v[C_LEFT] > p->n[N_TAPS] / 2 ? p->n[N_TAPS] / 2
                                                     : v[C_LEFT];
    p->n[N_M] = rows_of(p, v[C_N]);
}

/* w's taps and channels are one axis to the kit: spread() parts them. */
static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    numbers_find(p);
    part_shape(&p->part[X], p->heads, v[C_N], v[C_IN]);
    part_shape(&p->part[W], part_heads(p, W), v[C_OUT], cf_times(p->n[N_TAPS], v[C_IN]));
    part_shape(&p->part[BIAS], -1, -1, v[C_OUT]);
    part_shape(&p->part[ADD], p->heads, p->n[N_M], v[C_OUT]);
    part_shape(&p->part[Y], p->heads, p->n[N_M], v[C_OUT]);
    p->work = cf_times(cf_times(p->heads, v[C_OUT]),
                       cf_times(p->n[N_M], cf_plus(cf_times(p->n[N_TAPS], v[C_IN]), 1)));
}

static void spread(const struct fixed_problem *p, int array, heed_tensor *t)
{
    const uint32_t last = t->ndim - 1;
    const int64_t step = t->ndim > 0 ? t->stride[last] : 0;
    const int64_t tap = p->c.v[C_IN] / (int64_t)type_elements(p->part[W].a.dtype);

    if (array != W || p->n[N_KERNEL] == 0)
        return;
    t->shape[last] = p->n[N_KERNEL];
    t->shape[last + 1] = p->c.v[C_IN];
    t->stride[last + 1] = step;
    t->stride[last] = step < 0 ? -cf_times(-step, tap) : cf_times(step, tap);
    t->ndim++;
}

/* Row i of y has row i of x alone, not a window of them. */
static bool rows_apart(const struct fixed_problem *p)
{
    return p->n[N_KERNEL] == 0 && p->n[N_STEP] == 1;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_linear_desc *const linear = desc;

    linear->act = (uint32_t)p->c.v[C_ACT];
    linear->tail = (uint32_t)p->n[N_TAIL];
    linear->kernel = p->n[N_KERNEL];
    linear->stride = p->n[N_STRIDE];
    linear->left = p->n[N_LEFT];
}

/* ---- the oracle ------------------------------------------------------------------ */

/* A sum so far: finite terms in double, how large they are together, those that are not finite. */
struct sum {
    double value, size, other; /* other: 0, an infinity, NaN */
    double roundings;          /* at most: of the canonical order, or of any order (FAST) */
    double flushed;            /* size of terms that are 0 where subnormals count as zeros */
    bool vague;                /* such a term is not finite, and would be NaN */
};

static void sum_add(struct sum *s, double term)
{
    if (isfinite(term)) {
        s->value += term;
        s->size += fabs(term);
    } else {
        s->other += term;
    }
}

static bool is_subnormal(double x)
{
    return x != 0 && fabs(x) < 0x1p-126;
}

static void sum_product(struct sum *s, double x, double w)
{
    sum_add(s, x * w);
    if (!is_subnormal(x) && !is_subnormal(w))
        return;
    if (isfinite(x * w))
        s->flushed += fabs(x * w);
    else
        s->vague = true;
}

/* FAST (docs/numerics.md, section 15): a product and an addition cost a rounding each in any order;
 * products of halves of one type may go through a matrix unit, where one costs 2^-22. */
static double roundings_of(const struct fixed_problem *p, bool loose)
{
    const double terms = (double)(p->n[N_TAPS] * p->c.v[C_IN]);
    const uint32_t x = p->part[X].a.dtype, w = p->part[W].a.dtype;

    if (loose)
        return x == w && x != HEED_F32 ? 4 * terms : terms;
    return terms < 256 ? terms : 256 + ceil(terms / 256);
}

static int64_t first_row(const struct fixed_problem *p, int64_t i)
{
    if (p->n[N_TAIL] == HEED_TAIL_END)
        return p->c.v[C_N] - (p->n[N_M] - i) * p->n[N_STEP];
    return i * p->n[N_STEP] - p->n[N_LEFT];
}

static struct sum sum_of(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t h,
                         int64_t i, int64_t o)
{
    const int64_t in = p->c.v[C_IN], head = p->part[W].a.shape[1] == 1 ? 0 : h;
    struct sum s = { .roundings = roundings_of(p, a->loose) };

    for (int64_t tap = 0; tap < p->n[N_TAPS]; tap++) {
        const int64_t row = first_row(p, i) + tap;

        for (int64_t c = 0; c < in && row >= 0 && row < p->c.v[C_N]; c++)
            sum_product(&s, answer_real(a, X, part_at(&p->part[X], b, h, row, c)),
                        answer_real(a, W, part_at(&p->part[W], 0, head, o, tap * in + c)));
    }
    return s;
}

/* A sum that is far from infinity, `off` at most off. */
static void say_number(const struct fixed_problem *p, struct answer *a, int64_t index, double x,
                       double off)
{
    const uint32_t kind = (uint32_t)p->c.v[C_ACT];
    const double y = activation(kind, x), far = activation_spread(kind, x, y, off);

    if (fabs(y) + far < 0x1p127)
        say_near(a, Y, index, y, far);
    else
        say_kind(a, Y, index, SAID_VAGUE);
}

/* Roundings of single addends, bias and `add`, come on top of those of the sum. Of FAST each
 * product and each addition may also lose what is subnormal. */
static void say_output(const struct fixed_problem *p, struct answer *a, int64_t index,
                       const struct sum *s, int addends)
{
    const double n = u * (s->roundings + addends), gamma = n / (1 - n);
    const double off =
        gamma * s->size + (a->loose ? s->flushed + 0x1p-126 * (2 * s->roundings + addends)
                                    : 0x1p-149 * (s->roundings + addends));
    const uint32_t kind = (uint32_t)p->c.v[C_ACT];

    if (a->loose && s->vague)
        say_kind(a, Y, index, SAID_VAGUE);
    else if (a->loose && isnan(s->other))
        say_kind(a, Y, index, SAID_NAN);
    else if (isnan(s->other))
        say_float(a, Y, index, (double)NAN);
    else if (isinf(s->other) && s->size < 0x1p127)
        say_float(a, Y, index, activation(kind, s->other));
    else if (isinf(s->other))
        say_kind(a, Y, index, kind == HEED_ACT_NONE ? SAID_INFINITE : SAID_VAGUE);
    else if (s->size + off > 0x1p127)
        say_kind(a, Y, index, SAID_VAGUE);
    else /* this sum has roundings of its own, too */
        say_number(p, a, index, s->value, off + 0x1p-50 * s->roundings * s->size);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *y = &p->part[Y];

    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t i = 0; i < y->a.shape[2]; i++) {
                for (int64_t o = 0; o < y->a.shape[3]; o++) {
                    struct sum s = sum_of(p, a, b, h, i, o);
                    int addends = 0;

                    if (part_is(&p->part[BIAS])) {
                        sum_add(&s, answer_real(a, BIAS, part_at(&p->part[BIAS], 0, 0, 0, o)));
                        addends++;
                    }
                    if (part_is(&p->part[ADD])) {
                        sum_add(&s, answer_real(a, ADD, part_at(&p->part[ADD], b, h, i, o)));
                        addends++;
                    }
                    say_output(p, a, part_at(y, b, h, i, o), &s, addends);
                }
            }
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_linear_desc, member.shape[axis]), FAULT_I64
#define NUMBER(member) #member, offsetof(heed_linear_desc, member), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_linear_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { "reserved", offsetof(heed_linear_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "act", offsetof(heed_linear_desc, act), FAULT_U32, 1000, HEED_E_VALUE },
    { "tail", offsetof(heed_linear_desc, tail), FAULT_U32, 5, HEED_E_VALUE },
    { "tail", offsetof(heed_linear_desc, tail), FAULT_U32, HEED_TAIL_JOIN, HEED_E_VALUE },
    { NUMBER(kernel), -1, HEED_E_VALUE },
    { NUMBER(stride), -1, HEED_E_VALUE },
    { NUMBER(left), 1, HEED_E_VALUE },
    { NUMBER(left), -1, HEED_E_VALUE },
    { SHAPE(x, 3), 9, HEED_E_SHAPE },
    { SHAPE(w, 0), 7, HEED_E_SHAPE },
    { SHAPE(w, 1), 5, HEED_E_SHAPE },
    { SHAPE(w, 2), 7, HEED_E_SHAPE },
    { SHAPE(w, 3), 7, HEED_E_SHAPE },
    { SHAPE(bias, 0), 3, HEED_E_SHAPE },
    { SHAPE(add, 2), 7, HEED_E_SHAPE },
    { SHAPE(y, 2), 4, HEED_E_SHAPE },
    { "w", offsetof(heed_linear_desc, w.dtype), FAULT_U32, HEED_I8, HEED_E_DTYPE },
};

static const struct fixed_refusal refusals[] = {
    { "op=linear", C_STRIDE, -1, HEED_E_VALUE },
    { "op=linear", C_KERNEL, (1 << 24) + 1, HEED_E_UNSUPPORTED },
    { "op=linear out=1 n=1", C_IN, INT64_MAX, HEED_E_OVERFLOW },
};

static const struct fixed_number desc_numbers[] = {
    { "act", offsetof(heed_linear_desc, act), FAULT_U32, ACTIVATION_NAMES },
    { "tail", offsetof(heed_linear_desc, tail), FAULT_U32,
      "HEED_TAIL_FLOOR HEED_TAIL_CEIL HEED_TAIL_CENTRE HEED_TAIL_JOIN HEED_TAIL_END" },
    { "kernel", offsetof(heed_linear_desc, kernel), FAULT_I64, NULL },
    { "stride", offsetof(heed_linear_desc, stride), FAULT_I64, NULL },
    { "left", offsetof(heed_linear_desc, left), FAULT_I64, NULL },
};

static const char *const named[] = {
    "op=linear",
    "op=linear in=0 act=inverse",
    "op=linear n=13 in=64 act=gelu bias=there",
    "op=linear n=33 in=600 out=130 bias=there add=there",
    "op=linear n=13 in=131 out=33 kernel=5 tail=centre left=2 fill=special",
    "op=linear n=7 in=131 kernel=3 tail=end w.h=1",
    "op=linear n=1 in=600 out=300 w.t=f16 w.s=transposed",
    "op=linear n=1 in=608 out=300 w.t=q8_0",
    "op=linear n=33 in=608 out=130 w.t=q4_0 bias=there fill=special",
    "op=linear n=3 in=64 out=33 w.t=q4_1 kernel=3 tail=end x.t=bf16",
    "op=linear n=13 in=256 out=65 w.t=q5_0 kernel=2 tail=centre left=1 fill=bits",
    "op=linear n=2 in=96 out=16 w.t=q5_1 w.s=negative",
    "op=linear n=300 in=64 out=130 w.t=iq4_nl add=there",
    "op=linear n=2 in=131 out=33",
    "op=linear n=250 in=64 out=250 kernel=3 tail=centre left=1 fill=special",
};

FIXED_CALLS(heed_linear)
FIXED_RUN(heed_linear)

#define BIT(field) (1u << ((field) - F_OWN))

const struct fixed fixed_linear = {
    .op = FIXED_OP("linear"),
    .c_name = "linear",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_linear_desc),
    .args_size = sizeof(heed_linear_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_N) | BIT(C_IN) | BIT(C_OUT),
    .vast = BIT(C_N) | BIT(C_IN) | BIT(C_OUT) | BIT(C_KERNEL) | BIT(C_STRIDE) | BIT(C_LEFT),
    .shape = shape,
    .rows_apart = rows_apart,
    .spread = spread,
    .numbers = numbers,
    .say = say,
    .fast = true,
    .in_place = { { Y, ADD } },
    .n_in_place = 1,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=linear n=8 kernel=3 bias=there add=there",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
