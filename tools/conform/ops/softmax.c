/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See softmax.h. The bound is that of the oracle of attention (oracle.c) for scores that are given:
 * each weight is off by its exponent's roundings, which the exponent's magnitude bounds, and by
 * those of exp and of the rescaling; the sums by a rounding for each key.
 */
#include "softmax.h"

#include <math.h>
#include <stdlib.h>

static const double u = 0x1p-24;

void soft_begin(struct soft *s)
{
    *s = (struct soft){ .key = s->key, .room = s->room, .sink = -(double)INFINITY };
}

void soft_finish(struct soft *s)
{
    free(s->key);
}

void soft_add(struct soft *s, double y, int64_t at)
{
    soft_add_score(s, y, fabs(y), 0, at);
}

void soft_add_score(struct soft *s, double y, double size, double slack, int64_t at)
{
    if (y == -(double)INFINITY)
        return;
    if (s->n == s->room) {
        struct soft_key *more = realloc(s->key, (size_t)(2 * s->room + 64) * sizeof *more);

        if (!more) {
            s->lost = true;
            return;
        }
        s->key = more;
        s->room = 2 * s->room + 64;
    }
    s->nan = s->nan || isnan(y) || y == (double)INFINITY;
    s->vague = s->vague || (isfinite(y) && size > 0x1p100);
    s->key[s->n++] = (struct soft_key){ .y = y, .size = size, .slack = slack, .at = at };
}

void soft_weigh(struct soft *s, bool with_sink)
{
    const double sink = with_sink ? s->sink : -(double)INFINITY;
    const double n = (double)s->n, rescales = n / 16 + 2, exp_error = 4, roundings = 8;

    s->most = sink;
    s->reach = isfinite(sink) ? fabs(sink) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        s->most = fmax(s->most, s->key[i].y);
        s->reach = fmax(s->reach, s->key[i].size);
    }
    s->sum = sink > -(double)INFINITY ? exp(sink - s->most) : 0;
    for (int64_t i = 0; i < s->n; i++) {
        s->key[i].weight = exp(s->key[i].y - s->most);
        s->sum += s->key[i].weight;
    }
    s->loss = 0;
    for (int64_t i = 0; i < s->n; i++) {
        struct soft_key *k = &s->key[i];
        const double eps = k->slack + u * (roundings * k->size + 3 * (s->most - k->y) +
                                           2 * s->reach);
        const double all = eps + ((rescales + 1) * exp_error + rescales) * u;

        k->error = all < 1 ? k->weight * expm1(all) : exp(k->y - s->most + all);
        s->loss += k->error / s->sum;
    }
    if (sink > -(double)INFINITY)
        s->loss += exp(sink - s->most) / s->sum * expm1(u * (8 * s->reach + 8 * rescales));
    s->gamma = (n + rescales) * u / (1 - (n + rescales) * u);
}

/* The mean of integers with equal weights, and of a sink that is none or weighs the same. */
static bool plain_mean(const struct soft *s, double *mean)
{
    struct exact_sum sum = { 0 };
    float weight;

    if (s->sink != -(double)INFINITY && s->sink != 0)
        return false;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->key[i].y != 0 || s->key[i].slack > 0 || s->key[i].v_slack > 0)
            return false;
        exact_add(&sum, s->key[i].v);
    }
    weight = (float)(s->n + (s->sink == 0));
    *mean = (float)sum.sum * (1.0f / weight);
    return exact_is(&sum);
}

void soft_say(const struct soft *s, struct answer *a, int array, int64_t index)
{
    const double n = (double)s->n, stray = s->loss + s->gamma;
    double sum = 0, size = 0, spread = 0, all = 0, want, bound;
    bool nan = s->nan || isnan(s->sink) || s->sink == (double)INFINITY, infinite = false;

    if (s->lost || (s->vague && !nan)) {
        say_kind(a, array, index, SAID_VAGUE);
        return;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const struct soft_key *k = &s->key[i];

        nan = nan || isnan(k->v);
        infinite = infinite || isinf(k->v);
        sum += k->weight * k->v;
        size += (k->weight + k->error) * (fabs(k->v) + k->v_slack);
        spread += (k->weight + k->error) * k->v_slack;
        all += fabs(k->v) + k->v_slack;
    }
    if (s->n == 0 || nan) {
        say_float(a, array, index, s->n == 0 ? 0 : (double)NAN);
        return;
    }
    if (plain_mean(s, &want)) {
        say_rounded(a, array, index, want, 4 * u * fabs(want));
        return;
    }
    if (infinite || all > 0x1p126 || !(stray < 0.5)) {
        say_kind(a, array, index, infinite ? SAID_INFINITE : SAID_VAGUE);
        return;
    }
    want = sum / s->sum;
    for (int64_t i = 0; i < s->n; i++)
        spread += s->key[i].error * fabs(s->key[i].v - want);
    spread += s->sink > -(double)INFINITY ? s->loss * s->sum * fabs(want) : 0;
    bound = spread / s->sum + s->gamma * size / s->sum + (s->gamma + 4 * u) * fabs(want) +
            (0x1p-98 * (all + n * fabs(want)) + 8 * (n + 2) * 0x1p-149) / s->sum;
    say_near(a, array, index, want, bound / (1 - stray));
}

void soft_say_log(const struct soft *s, struct answer *a, int array, int64_t index)
{
    const double want = s->most + log(s->sum), stray = s->loss + s->gamma;

    if (s->lost || s->vague || !(stray < 0.5))
        say_kind(a, array, index, SAID_VAGUE);
    else
        say_near(a, array, index, want,
                 -log1p(-stray) +
                     4 * u * (fabs(s->most) + fabs(log(s->sum)) + fabs(want) + 1));
}

void exact_add(struct exact_sum *e, double term)
{
    e->sum += term;
    e->size += fabs(term);
    e->broken = e->broken || !(fabs(term) < 0x1p24) || term != rint(term);
}

bool exact_is(const struct exact_sum *e)
{
    return !e->broken && e->size <= 0x1p24;
}
