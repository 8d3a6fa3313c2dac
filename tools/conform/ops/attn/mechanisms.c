/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The mechanisms family: every builder of heed/mechanisms.h that the tools know by name, with
 * numbers drawn at random. What a builder makes is an attention that no line of a case describes;
 * so it is read back (read.c), filled with numbers, laid out with strides and guards, and judged as
 * any case is. What it refuses, it refuses by a documented status, and writes nothing.
 */
#include "attn.h"
#include "conform/engine/subject.h"
#include "mechanisms.h"

#include "patterns/pattern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 20000 }; /* elements of an array */

/* ---- numbers ---------------------------------------------------------------------------- */

/* Small ones, and mostly such as go together: powers of two for what has to divide. */
static int64_t number_draw(struct rng *r, const char *key)
{
    static const int64_t powers[] = { 1, 2, 4, 8, 16, 2, 4, 3 };
    static const char *const divide[] = { "block", "factor", "sparse", "stride" };

    for (size_t i = 0; i < sizeof divide / sizeof *divide; i++) {
        if (strcmp(key, divide[i]) == 0)
            return powers[rng_below(r, 8)];
    }
    if (strcmp(key, "n") == 0)
        return rng_range(r, 1, rng_below(r, 4) ? 40 : 150);
    if (strcmp(key, "d") == 0)
        return rng_range(r, 1, rng_below(r, 3) ? 9 : 40);
    if (strcmp(key, "b") == 0 || strcmp(key, "h") == 0)
        return rng_range(r, 1, 3);
    if (strcmp(key, "random") == 0 || strcmp(key, "best") == 0 || strcmp(key, "dilation") == 0)
        return rng_range(r, 1, 3);
    return rng_range(r, rng_below(r, 8) ? 1 : 0, 20);
}

/* "longformer:n=7,h=2,..,hk=1,dtype=f16"; false: such numbers make no sense by the tools' list. */
static bool choice_draw(struct rng *r, uint32_t kind, struct pattern_choice *c)
{
    struct pattern_choice base;
    char text[256], why[160];
    const char *key;
    int64_t value;
    size_t length;

    if (!pattern_parse(pattern_name(kind), PATTERN_OF_PICTURE, &base, why, sizeof why))
        return false;
    length = (size_t)snprintf(text, sizeof text, "%s:dtype=%s", pattern_name(kind),
                              type_find(type_nth(TYPE_FLOATS, rng_below(r, 3)))->name);
    for (size_t i = 0; (key = pattern_number(&base, i, &value)) != NULL; i++) {
        if (strcmp(key, "hk") == 0)
            continue; /* as many as h, or one: */
        length += (size_t)snprintf(text + length, sizeof text - length, ",%s=%lld", key,
                                   (long long)number_draw(r, key));
    }
    if (rng_below(r, 3) == 0)
        snprintf(text + length, sizeof text - length, ",hk=1");
    return pattern_parse(text, PATTERN_OF_PICTURE, c, why, sizeof why);
}

/* ---- the attention as a problem ----------------------------------------------------------- */

static int64_t count_of(const heed_tensor *t)
{
    int64_t n = 1;

    for (uint32_t i = 0; i < t->ndim; i++)
        n = cf_times(n, t->shape[i]);
    return n;
}

/* Numbers of a hash; sources that read one set of keys have the same. */
static void fill(struct array *a, uint64_t hash)
{
    for (int64_t i = 0; i < cf_array_count(a); i++)
        cf_array_set(a, i, cf_small(a->dtype, cf_mix2(hash, (uint64_t)i), 1));
}

static void contents(const struct pattern *made, struct problem *p, uint64_t seed)
{
    fill(&p->q, cf_mix2(seed, 1));
    for (int s = 0; s < p->n_sources; s++) {
        fill(&p->source[s].k, cf_mix2(seed, 10 + made->m.keys[s]));
        fill(&p->source[s].v, cf_mix2(seed, 20 + made->m.keys[s]));
    }
    for (int i = 0; i < p->n_slots; i++) {
        if (p->slot[i].a.dtype == HEED_F32)
            fill(&p->slot[i].a, cf_mix2(seed, 30 + (uint64_t)i));
    }
}

/* Every array somewhere else between its guards. */
static void lay(struct problem *p, const struct pattern_choice *c, uint64_t seed)
{
    static const int64_t batch[] = { 1, 0, 2 }; /* the words of "batch" for 1, 2, 3 items */
    struct rng r = rng_of(seed);

    p->c.seed = seed;
    p->c.v[G_BATCH] = batch[c->v[PATTERN_B] - 1];
    p->c.v[G_O] = type_place(TYPE_FLOATS, c->dtype);
    p->c.v[G_OS] = rng_below(&r, LAID_ZERO);
    p->c.v[G_LS] = rng_below(&r, LAID_ZERO);
    p->q.laid = (int)rng_below(&r, LAID_ZERO);
    for (int s = 0; s < p->n_sources; s++) {
        p->source[s].k.laid = (int)rng_below(&r, LAID_ZERO);
        p->source[s].v.laid = (int)rng_below(&r, LAID_ZERO);
    }
    for (int i = 0; i < p->n_slots; i++)
        p->slot[i].a.laid = (int)rng_below(&r, LAID_ZERO);
}

/* NULL: more than the kit takes, or no memory. The arrays are read from one block of zeros: their
 * numbers come later. */
static struct problem *problem_of(const struct pattern_choice *c, const struct pattern *made,
                                  uint64_t seed)
{
    void *const zeros = calloc(MOST, sizeof(float));
    const heed_buf at = { .handle = zeros };
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    const heed_attn_args args = { .size = sizeof args, .kv_size = sizeof *kv, .q = at, .o = at,
                                  .kv = kv, .slots = slots, .n_slots = HEED_MECHANISM_SLOTS };
    bool small = zeros && count_of(&made->m.desc.q) <= MOST && count_of(&made->m.desc.o) <= MOST;
    struct problem *p = NULL;
    struct call ran;

    for (int s = 0; s < HEED_MECHANISM_SOURCES; s++)
        kv[s] = (heed_kv_bufs){ at, at };
    for (uint32_t s = 0; s < made->n_sets; s++)
        small = small && count_of(&made->sets[s]) <= MOST;
    if (small)
        p = cf_problem_of(&made->m.desc, &args, &ran);
    free(zeros);
    if (!p)
        return NULL;
    free(ran.out.data);
    free(ran.out_lse.data);
    contents(made, p, seed);
    lay(p, c, seed);
    return p;
}

/* ---- one of them on every device -------------------------------------------------------- */

/* The builder said no: by a status that its header has, with a field, and without a trace. */
static void refused(struct session *session, heed_status status, const heed_report *report,
                    const struct pattern *made, const char *line)
{
    const heed_mechanism empty = { .size = sizeof empty };
    const bool known = status == HEED_E_VALUE || status == HEED_E_SHAPE || status == HEED_E_NULL;
    const bool clean = memcmp(&made->m, &empty, sizeof empty) == 0;

    cf_tap(&session->tally, known && clean && report->field[0] != '\0', NULL, "all",
           "mechanism refused", line,
           !known  ? heed_status_name(status)
           : clean ? "the report names no field"
                   : "the mechanism was written to");
}

static void mechanism_try(struct session *session, const struct pattern_choice *c)
{
    struct pattern *made = calloc(1, sizeof *made);
    heed_report report = { .size = sizeof report };
    const uint64_t seed = cf_hash_bytes(c->text, strlen(c->text)) >> 20;
    heed_status status = HEED_E_NOMEM;
    char line[sizeof c->text + 16];

    snprintf(line, sizeof line, "mechanism=%s", c->text);
    if (made)
        status = pattern_make(c, made, &report);
    if (made && status < 0) {
        refused(session, status, &report, made, line);
    } else if (made) {
        struct problem *p = problem_of(c, made, seed);

        if (p)
            (void)cf_problem_case(session, p, seed, FAMILY_BITS | FAMILY_BOUND, "mechanism", line);
        else
            cf_tap(&session->tally, true, "larger than the kit's cases", "all", "mechanism", line,
                   "");
        cf_problem_free(p);
        pattern_free(made);
    }
    free(made);
}

bool mechanism_known(const char *text, char *why, size_t room)
{
    struct pattern_choice c;

    return pattern_parse(text, PATTERN_OF_PICTURE, &c, why, room);
}

void mechanism_case(struct session *session, const char *text)
{
    struct pattern_choice c;
    char why[160];

    cf_op_use(&cf_op_attn);
    if (pattern_parse(text, PATTERN_OF_PICTURE, &c, why, sizeof why))
        mechanism_try(session, &c);
}

void family_mechanisms(struct session *session, int64_t cases)
{
    struct rng r = rng_of((uint64_t)session->o.seed + 4711);

    cf_op_use(&cf_op_attn);
    for (int64_t i = 0; i < cases; i++) {
        for (uint32_t kind = 0; pattern_name(kind) != NULL; kind++) {
            struct pattern_choice c;

            if (choice_draw(&r, kind, &c))
                mechanism_try(session, &c);
        }
    }
}
