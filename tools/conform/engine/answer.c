/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the oracle of an operation with fixed arrays says of each element of the outputs, which
 * elements of the inputs it read for that, and the judge of a run by it.
 */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_is_marked(const struct fixed_problem *p, int i)
{
    return part_is(&p->part[i]) && p->part[i].role & IN;
}

bool answer_make(struct answer *a, const struct fixed_problem *p)
{
    *a = (struct answer){ .p = p };
    for (int i = 0; i < p->op->n_arrays; i++) {
        const size_t n = (size_t)cf_array_count(&p->part[i].a) + 1;

        if (fixed_writes(p, i))
            a->said[i] = calloc(n, sizeof *a->said[i]);
        else if (read_is_marked(p, i))
            a->read[i] = calloc(n, 1);
        if (part_is(&p->part[i]) && !a->said[i] && !a->read[i])
            return false;
    }
    p->op->say(p, a);
    return true;
}

void answer_forget(struct answer *a)
{
    for (int i = 0; i < MAX_PARTS; i++) {
        free(a->real[i]);
        a->real[i] = NULL;
    }
}

void answer_finish(struct answer *a)
{
    answer_forget(a);
    for (int i = 0; i < MAX_PARTS; i++) {
        free(a->said[i]);
        free(a->read[i]);
    }
}

uint32_t answer_bits(struct answer *a, int array, int64_t index)
{
    if (a->read[array])
        a->read[array][index] = 1;
    return cf_array_bits(&a->p->part[array].a, index);
}

/* A number takes long to decode, and an element is a term of many sums. */
static double *all_real(const struct array *from)
{
    const int64_t n = cf_array_count(from);
    double *real = malloc(((size_t)n + 1) * sizeof *real);

    for (int64_t i = 0; real && i < n; i++)
        real[i] = (double)cf_array_value(from, i);
    return real;
}

double answer_real(struct answer *a, int array, int64_t index)
{
    const struct array *const from = &a->p->part[array].a;

    if (a->read[array])
        a->read[array][index] = 1;
    if (!a->real[array])
        a->real[array] = all_real(from);
    return a->real[array] ? a->real[array][index] : (double)cf_array_value(from, index);
}

void say_kind(struct answer *a, int array, int64_t index, int kind)
{
    a->said[array][index].kind = kind;
}

void say_bits(struct answer *a, int array, int64_t index, int64_t bits)
{
    a->said[array][index] = (struct said){ .kind = SAID_BITS, .bits = bits };
}

uint32_t cf_round_out(uint32_t dtype, float x)
{
    const uint32_t bits = cf_encode(dtype, x);

    return bits << (33 - 8 * type_find(dtype)->bytes) ? bits : 0;
}

/* A double that binary32 can hold, or that overflows: then one rounding more changes nothing. */
void say_float(struct answer *a, int array, int64_t index, double exact)
{
    say_bits(a, array, index, cf_round_out(a->p->part[array].a.dtype, (float)exact));
}

void say_near(struct answer *a, int array, int64_t index, double value, double bound)
{
    const uint32_t dtype = a->p->part[array].a.dtype;
    double relative, absolute;

    cf_output_rounding(dtype, &relative, &absolute);
    bound += relative * (fabs(value) + bound) + absolute;
    a->said[array][index] =
        (struct said){ .kind = SAID_NEAR, .value = value, .bound = bound };
    /* the output type may not hold it */
    if (!(fabs(value) + bound <= (dtype == HEED_F16 ? 65500 : 0x1.fcp126)))
        a->said[array][index].kind = SAID_VAGUE;
}

void say_rounded(struct answer *a, int array, int64_t index, double canonical, double bound)
{
    struct said *const said = &a->said[array][index];

    say_near(a, array, index, canonical, bound);
    said->kind = SAID_BITS;
    said->bits = cf_round_out(a->p->part[array].a.dtype, (float)canonical);
}

void answer_loosen(struct answer *a)
{
    if (a->p->op->fast && !a->loose) {
        a->loose = true;
        a->p->op->say(a->p, a);
    }
    for (int i = 0; i < a->p->op->n_arrays; i++) {
        for (int64_t e = 0; a->said[i] && e < cf_array_count(&a->p->part[i].a); e++) {
            if (a->said[i][e].kind == SAID_BITS && a->said[i][e].bound > 0)
                a->said[i][e].kind = SAID_NEAR;
        }
    }
}

static void blame(struct verdict *v, const struct part *part, int64_t index, const char *what)
{
    const int64_t *s = part->a.shape;
    const int64_t z = index % s[3], y = index / s[3] % s[2], x = index / s[3] / s[2] % s[1];

    cf_fail(v, "%s[%" PRId64 "][%" PRId64 "][%" PRId64 "][%" PRId64 "]: %s", part->table->name,
            index / s[3] / s[2] / s[1], x, y, z, what);
}

static void element_judge(const struct part *part, const struct said *s, const struct array *out,
                          const struct array *old, int64_t i, bool signs, uint32_t families,
                          struct verdict *v)
{
    const int64_t got = out->dtype == HEED_I64 ? cf_array_int(out, i)
                                               : (int64_t)cf_array_bits(out, i);
    int64_t want = s->bits;

    cf_step(v, s->kind <= SAID_BITS ? "exact" : "bound");
    if (s->kind == SAID_NOTHING) {
        if (part->role & OUT)
            blame(v, part, i, "the oracle says nothing");
        want = old->dtype == HEED_I64 ? cf_array_int(old, i) : (int64_t)cf_array_bits(old, i);
    }
    if (s->kind <= SAID_BITS && families & FAMILY_EXACT) {
        v->exact++;
        if (got != want) {
            char what[120];

            snprintf(what, sizeof what, "wanted %s0x%" PRIx64 " got 0x%" PRIx64,
                     s->kind == SAID_BITS ? "" : "what it held, ", (uint64_t)want, (uint64_t)got);
            blame(v, part, i, what);
        }
    } else if (s->kind == SAID_NEAR && families & FAMILY_BOUND) {
        const double x = (double)cf_decode(out->dtype, (uint32_t)got);
        const double q = fabs(x - s->value) / s->bound;

        v->judged++;
        if (!(q <= 1) || (x == 0 && signbit(x) && !signs)) {
            char what[120];

            snprintf(what, sizeof what, "wanted %a got %a, error/bound %.3g", s->value, x, q);
            blame(v, part, i, what);
        }
        v->worst = q > v->worst ? q : v->worst;
    } else if (s->kind == SAID_NAN && families & FAMILY_BOUND) {
        v->judged++;
        if (!isnan(cf_decode(out->dtype, (uint32_t)got)))
            blame(v, part, i, "wanted NaN, got a number or infinity");
    } else if (s->kind == SAID_INFINITE && families & FAMILY_BOUND) {
        v->judged++;
        if (isfinite(cf_decode(out->dtype, (uint32_t)got)))
            blame(v, part, i, "wanted infinity or NaN, got a number");
    } else if (s->kind == SAID_VAGUE && families & FAMILY_BOUND) {
        v->judged++;
        v->skipped++;
    }
}

static void judge_own(const struct fixed_problem *p, const struct answer *a,
                      const struct fixed_call *call, struct verdict *v)
{
    cf_step(v, "exact");
    p->op->judge(p, a, call, v);
}

void fixed_judge(const struct fixed_problem *p, const struct answer *a,
                 const struct fixed_call *call, uint32_t families, struct verdict *v)
{
    for (int i = 0; i < p->op->n_arrays; i++) {
        const struct part *part = &p->part[i];

        if (!fixed_writes(p, i))
            continue;
        for (int64_t e = 0; e < cf_array_count(&part->a) && !v->failed; e++)
            element_judge(part, &a->said[i][e], &call->out[i], &call->old[i], e, a->loose, families,
                          v);
    }
    if (p->op->judge && !v->failed && families & (FAMILY_EXACT | FAMILY_BOUND))
        judge_own(p, a, call, v);
}
