/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The choices of a case, in the order of the bytes: the operation, the circumstances of its run,
 * the fields of the kit's case, and last, each rarely: other integers in arrays, a tensor of
 * the descriptor with other values, what the operation adds.
 */
#include "fuzz.h"
#include "own.h"

#include <stdlib.h>
#include <string.h>

uint8_t fuzz_byte(struct rng *b)
{
    return (uint8_t)rng_below(b, 256);
}

bool fuzz_rarely(struct rng *b, uint32_t n)
{
    return fuzz_byte(b) >= 256 - 256 / n;
}

uint64_t fuzz_word(struct rng *b, uint32_t n)
{
    uint64_t word = 0;

    for (uint32_t i = 0; i < n; i++)
        word |= (uint64_t)fuzz_byte(b) << 8 * i;
    return word;
}

int64_t fuzz_number(struct rng *b)
{
    static const int64_t numbers[] = {
        0,
        1,
        -1,
        2,
        3,
        7,
        64,
        1 << 20,
        INT64_C(1) << 31,
        INT64_C(1) << 40,
        INT64_C(1) << 62,
        INT64_MAX,
        INT64_MIN,
        -2,
        -64,
        INT32_MIN,
        INT32_MAX,
        5,
    };
    const uint8_t byte = fuzz_byte(b);

    return byte < 128 ? numbers[byte % (sizeof(numbers) / sizeof(*numbers))] : byte - 192;
}

/* ---- the kit's case ----------------------------------------------------- */

enum { WORK = 1 << 18 }; /* of a case, as its operation counts; rarely eight times that */

/* A byte a field that means something; half of the bytes are its default. What is illegal is mended
 * as the kit does it, but for a few. */
static void case_draw(struct rng *b, heed_device *reference, struct cs *c)
{
    const int64_t limit = fuzz_rarely(b, 32) ? 8 * WORK : WORK;
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
    if (!fuzz_rarely(b, 12) || cf_op->work(c) > limit)
        (void)cf_case_mend(&mending, reference, limit, c);
    if (cf_op->work(c) > limit)
        cf_case_default(c);
}

/* ---- what no drawn case has --------------------------------------------- */

/* Other integers in index arrays, lengths, ranges, masks. */
static void integers_set(const struct operand *x, struct rng *b)
{
    struct array *const a = (struct array *)(uintptr_t)x->holds;
    const int64_t n = a ? cf_array_count(a) : 0;
    const bool wide = a && (a->dtype == HEED_I32 || a->dtype == HEED_I64);

    if (n == 0 || !(wide || a->dtype == HEED_U8) || !fuzz_rarely(b, 4))
        return;
    for (int k = fuzz_byte(b) % 4; k >= 0; k--) {
        const int64_t at = (int64_t)(fuzz_word(b, 2) % (uint64_t)n);

        if (wide)
            cf_array_set_int(a, at, fuzz_number(b));
        else
            cf_array_set(a, at, fuzz_byte(b) & 1);
    }
    FUZZ_REQUIRE(cf_array_share(a, a->laid), "no memory for the target");
}

static void field_break(heed_tensor *t, struct rng *b)
{
    const uint32_t field = fuzz_byte(b) % 14;
    const int64_t value = fuzz_number(b);

    if (field < 6)
        t->shape[field] = value;
    else if (field < 12)
        t->stride[field - 6] = value;
    else if (field == 12)
        t->dtype = (uint32_t)value % 28;
    else
        t->ndim = (uint32_t)value % 9;
}

/* A tensor of the descriptor, or what the operation adds. */
static void case_break(struct fuzz_case *c, struct rng *b)
{
    const uint8_t way = fuzz_byte(b) % 8;
    const struct operand *const x = c->job->operand;
    heed_tensor *const t = way < 4 ? x[fuzz_byte(b) % c->job->n].tensor : NULL;

    c->strange = true;
    if (way == 0)
        *t = *x[fuzz_byte(b) % c->job->n].tensor;
    else if (way < 3)
        field_break(t, b);
    else if (way > 3)
        c->own->spoil(c->job, b);
    for (uint32_t i = 0; way == 3 && i < t->ndim && i < 6; i++)
        t->stride[i] = rng_range(b, -16, 16);
}

/* ---- the circumstances of run ------------------------------------------- */

/* Mostly it is something written that lies within another array. */
static void alias_draw(struct fuzz_case *c, uint32_t guest, uint32_t host)
{
    const struct job *const job = c->job;
    int written[JOB_OPERANDS], n = 0;

    for (int i = 0; i < job->n; i++) {
        if (job->operand[i].role != HEED_ROLE_IN)
            written[n++] = i;
    }
    c->guest = guest < 192 ? written[guest % (uint32_t)n] : (int)(guest % (uint32_t)job->n);
    c->host = (int)(host % (uint32_t)job->n);
}

/* Every second byte is attention. */
static const struct cf_op *op_of(uint8_t byte)
{
    return cf_ops[byte % 2 ? 1 + byte / 2 % (cf_n_ops - 1) : 0];
}

void fuzz_case_make(struct fuzz_case *c, heed_device *reference, const uint8_t *data,
                    size_t size)
{
    struct rng bytes = rng_of_bytes(data, size), *const b = &bytes;
    uint32_t guest, host;
    bool aliased;

    memset(c, 0, sizeof(*c));
    cf_op_use(op_of(fuzz_byte(b)));
    c->own = cf_op->tabled ? &fuzz_table : &fuzz_attn;
    c->workers = 1 + fuzz_byte(b) % 4;
    c->rounding = fuzz_byte(b) % 4;
    c->by_operands = fuzz_byte(b);
    c->fail_at = fuzz_rarely(b, 8) ? 1 + fuzz_byte(b) % 8 : 0;
    c->trouble = fuzz_rarely(b, 6) ? fuzz_byte(b) % FUZZ_TROUBLES : FUZZ_SOUND;
    c->which = fuzz_byte(b);
    c->at_end = ~fuzz_word(b, 8);
    aliased = fuzz_rarely(b, 8);
    guest = aliased ? fuzz_byte(b) : 0;
    host = aliased ? fuzz_byte(b) : 0;
    c->distance = aliased ? (uint32_t)fuzz_word(b, 2) : 0;
    c->pick = (uint32_t)fuzz_word(b, 4);
    case_draw(b, reference, &c->cs);
    c->job = cf_open(&c->cs, CALL_ABSENT, true);
    FUZZ_REQUIRE(c->job != NULL, "no memory for the target");
    if (aliased)
        alias_draw(c, guest, host);
    for (int i = 0; i < c->job->n; i++) {
        integers_set(&c->job->operand[i], b);
        job_fill(&c->job->operand[i], 0);
    }
    c->strange = c->job->check(reference, c->job->desc, NULL) < 0;
    for (uint32_t n = fuzz_rarely(b, 3) ? 1 + fuzz_byte(b) % 3 : 0; n > 0; n--)
        case_break(c, b);
}

void fuzz_case_finish(struct fuzz_case *c)
{
    cf_close(c->job);
}

/* ---- tensors ------------------------------------------------------------ */

uint32_t fuzz_dtype_size(uint32_t dtype)
{
    return type_is(dtype) ? type_find(dtype)->bytes : 0;
}

/* Elements along an axis, of the last one blocks where the type has them. */
static int64_t pieces_along(const heed_tensor *t, uint32_t axis)
{
    return axis + 1 == t->ndim ? type_pieces(t->dtype, t->shape[axis]) : t->shape[axis];
}

bool fuzz_extent(const heed_tensor *t, int64_t *low, int64_t *high)
{
    const int64_t size = fuzz_dtype_size(t->dtype);
    int64_t left = size ? INT64_MAX / size - 1 : 0;     /* what the spans may still add up to */

    *low = 0;
    *high = 0;
    if (size == 0 || t->ndim > 6)
        return false;
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return false;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            return true;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t steps = pieces_along(t, i) - 1, stride = t->stride[i];
        int64_t far;

        if (steps == 0 || stride == 0)
            continue;
        if (stride < -INT64_MAX || (stride < 0 ? -stride : stride) > left / steps)
            return false;
        far = steps * stride;
        left -= far < 0 ? -far : far;
        *(far < 0 ? low : high) += far;
    }
    *low *= size;
    *high = (*high + 1) * size;
    return true;
}

int64_t fuzz_count(const heed_tensor *t, int64_t most)
{
    int64_t n = 1;

    if (t->ndim == 0 || t->ndim > 6)
        return t->ndim == 0 ? 0 : -1;
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] <= 0)
            return t->shape[i] < 0 ? -1 : 0;
    }
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (pieces_along(t, i) > most / n)
            return -1;
        n *= pieces_along(t, i);
    }
    return n;
}

int64_t fuzz_offset(const heed_tensor *t, int64_t i)
{
    int64_t offset = 0;

    for (uint32_t a = t->ndim; a-- > 0;) {
        offset += i % pieces_along(t, a) * t->stride[a];
        i /= pieces_along(t, a);
    }
    return offset;
}

void fuzz_fill(uint8_t *to, size_t size, const struct place *from)
{
    int64_t low, high;
    const uint8_t *image;

    if (!fuzz_extent(&from->t, &low, &high) || high == low)
        return;
    image = from->snapshot + (int64_t)from->buf.offset + low;
    for (size_t i = 0; i < size; i++)
        to[i] = image[i % (size_t)(high - low)];
}
