/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tables of programs have in common, and the oracle of their last stage: an attention to
 * arrays and to what earlier stages made, each element of which is known within a bound.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double u = 0x1p-24;

/* ---- arrays ----------------------------------------------------------------------- */

void program_shape(struct fixed_problem *p, int64_t n, int64_t group, int64_t d, int64_t dv)
{
    p->n[P_N] = n;
    p->n[P_GROUP] = group;
    part_shape(&p->part[P_Q], p->heads * group, n, d);
    part_shape(&p->part[P_O], p->heads * group, n, dv);
    part_shape(&p->part[P_TEXT_K], p->heads, n, d);
    part_shape(&p->part[P_TEXT_V], p->heads, n, dv);
    part_shape(&p->part[P_TEXT_LEN], -1, -1, -1);
    part_shape(&p->part[P_TEXT_MASK], -1, part_heads(p, P_TEXT_MASK), n);
    p->part[P_TEXT_LEN].bound = n;
}

bool program_shorten(struct fixed_problem *p)
{
    const int64_t n = program_length(p, P_TEXT_LEN, 0, p->n[P_N]);

    if (!part_is(&p->part[P_TEXT_LEN]))
        return false;
    p->n[P_N] = n;
    part_drop(&p->part[P_TEXT_LEN]);
    part_cut(&p->part[P_Q], 2, n);
    part_cut(&p->part[P_O], 2, n);
    part_cut(&p->part[P_TEXT_K], 2, n);
    part_cut(&p->part[P_TEXT_V], 2, n);
    part_cut(&p->part[P_TEXT_MASK], 3, n);
    return true;
}

heed_status program_run(const heed_plan *plan, heed_queue *queue, const void *args,
                        heed_event **event, heed_report *report)
{
    return heed_program_run(plan, queue, args, event, report);
}

int64_t program_length(const struct fixed_problem *p, int len, int64_t b, int64_t most)
{
    const struct part *part = &p->part[len];
    int64_t n;

    if (!part_is(part))
        return most;
    n = part_int(part, part_at(part, b, 0, 0, 0));
    return n < 0 ? 0 : n > most ? most : n;
}

bool program_present(const struct fixed_problem *p, int len, int mask, int64_t b, int64_t g,
                     int64_t j, int64_t most)
{
    const struct part *part = &p->part[mask];

    return j < program_length(p, len, b, most) &&
           (!part_is(part) || part_bits(part, part_at(part, b, 0, g, j)) != 0);
}

/* ---- what stages make ---------------------------------------------------------------- */

static void part_of_all(struct part *part, const struct fixed_problem *p, uint32_t dtype)
{
    part->a.dtype = dtype;
    part->a.shape[0] = p->n_items;
    part->lead = 1;
    for (int64_t b = 0; b < p->n_items; b++)
        part->own[b] = b;
}

bool made_make(struct made *m, const struct fixed_problem *p, int64_t heads, int64_t rows,
               int64_t d, bool mask)
{
    *m = (struct made){ 0 };
    part_shape(&m->part, heads, rows, d);
    part_of_all(&m->part, p, HEED_F32);
    m->said = calloc((size_t)cf_array_count(&m->part.a) + 1, sizeof *m->said);
    if (!mask)
        return m->said != NULL;
    part_shape(&m->mask, -1, heads, rows);
    part_of_all(&m->mask, p, HEED_U8);
    m->there = calloc((size_t)cf_array_count(&m->mask.a) + 1, sizeof *m->there);
    return m->said && m->there;
}

void made_finish(struct made *m)
{
    free(m->said);
    free(m->there);
}

/* ---- attention -------------------------------------------------------------------------- */

struct near {
    double value, slack; /* slack: infinity, nothing is known */
};

static struct near made_near(const struct made *m, int64_t b, int64_t head, int64_t j, int64_t c)
{
    const struct said *s = &m->said[part_at(&m->part, b, head, j, c)];

    if (s->kind == SAID_BITS)
        return (struct near){ (double)cf_decode(HEED_F32, (uint32_t)s->bits), 0 };
    if (s->kind == SAID_NEAR)
        return (struct near){ s->value, s->bound };
    return (struct near){ 0, (double)INFINITY };
}

static struct near element(struct attend *t, int array, const struct made *made, int64_t head,
                           int64_t j, int64_t c)
{
    if (made)
        return made_near(made, t->b, head, j, c);
    return (struct near){
        answer_real(t->a, array, part_at(&t->p->part[array], t->b, head, j, c)), 0
    };
}

void attend_begin(struct attend *t, int64_t b, int64_t h, int64_t i)
{
    const int64_t d = t->p->part[P_Q].a.shape[3];

    t->b = b;
    t->h = h;
    t->g = h / t->p->n[P_GROUP];
    t->i = i;
    t->n = 0;
    t->scale = d > 0 ? 1 / sqrt((double)d) : 0;
    soft_begin(&t->soft);
}

void attend_finish(struct attend *t)
{
    soft_finish(&t->soft);
    free(t->key);
}

/* A score: sum of d products, each off by what its key is. Numbers that may leave binary32 on the
 * way, and an infinity times what is not known, make it unknown. */
void attend_add(struct attend *t, const struct attend_key *key)
{
    const struct part *q = &t->p->part[P_Q];
    const int64_t d = q->a.shape[3];
    double y = 0, size = 0, slack = 0;

    for (int64_t c = 0; c < d; c++) {
        const double x = answer_real(t->a, P_Q, part_at(q, t->b, t->h, t->i, c));
        const struct near k = element(t, key->k, key->made_k, key->head, key->j, c);

        if (k.slack > 0 && !isnan(x) && !(isfinite(x) && isfinite(k.slack))) {
            slack = (double)INFINITY;
            continue;
        }
        y += x * k.value;
        size += isfinite(x * k.value) ? fabs(x * k.value) : 0;
        slack += k.slack > 0 && !isnan(x) ? fabs(x) * k.slack : 0;
    }
    if (size > 0x1p126)
        slack = (double)INFINITY;
    slack = t->scale * (slack + (double)d * u * (size + slack));
    if (t->n == t->room) {
        struct attend_key *more = realloc(t->key, (size_t)(2 * t->room + 64) * sizeof *more);

        if (!more) {
            t->soft.lost = true;
            return;
        }
        t->key = more;
        t->room = 2 * t->room + 64;
    }
    t->key[t->n] = *key;
    t->soft.vague = t->soft.vague || !isfinite(slack);
    soft_add_score(&t->soft, t->scale * y, t->scale * (size + fabs(slack)), slack, t->n++);
}

void attend_say(struct attend *t, struct answer *to, int array, int64_t head, int64_t row)
{
    const struct part *o = &to->p->part[array];

    soft_weigh(&t->soft, false);
    for (int64_t c = 0; c < o->a.shape[3]; c++) {
        for (int64_t i = 0; i < t->soft.n; i++) {
            const struct attend_key *key = &t->key[t->soft.key[i].at];
            const struct near v = element(t, key->v, key->made_v, key->head, key->j, c);

            t->soft.key[i].v = v.value;
            t->soft.key[i].v_slack = v.slack;
        }
        soft_say(&t->soft, to, array, part_at(o, t->b, head, row, c));
    }
}
