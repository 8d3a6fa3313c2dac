/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases with a name: one for each sentence of the contract that a drawn case may miss or that no
 * line of a case can say. The line is made a problem, the problem edited, and every device must
 * answer as the reference does, as the oracle says, and as the case itself knows.
 */
#include "attn.h"
#include "conform/engine/refusals.h"
#include "conform/engine/subject.h"

#include <math.h>
#include <string.h>

struct named {
    const char *name, *line;
    void (*edit)(struct problem *);
    void (*want)(const struct call *, struct verdict *);
    heed_status status; /* what check and plan answer; 0: they run */
};

static struct array *slot_of(struct problem *p, int slot)
{
    return &p->slot[slot - 1].a;
}

static void ints_set(struct array *a, int64_t value)
{
    for (int64_t i = 0; i < cf_array_count(a); i++)
        cf_array_set_int(a, i, value);
}

static void floats_set(struct array *a, float value)
{
    for (int64_t i = 0; i < cf_array_count(a); i++)
        cf_array_set(a, i, cf_encode(a->dtype, value));
}

static void float_set(struct array *a, int64_t index, float value)
{
    cf_array_set(a, index, cf_encode(a->dtype, value));
}

static float out_at(const struct call *call, int64_t index)
{
    return cf_decode(call->out.dtype, cf_array_bits(&call->out, index));
}

static void expect(struct verdict *v, bool holds, const char *what)
{
    if (!holds)
        cf_fail(v, "named: %s", what);
}

/* ---- batch axes that are left out --------------------------------------------- */

/* Items b0, b1 of a batch of 2 x 2: k has the last axis alone, v and the mask none. */
static void leading_axes_drop(struct problem *p)
{
    struct source_data *s = &p->source[0];

    s->k.shape[0] = 2;
    s->k.dropped = 1;
    s->v.shape[0] = 1;
    s->v.batched = false;
    slot_of(p, s->mask)->shape[0] = 1;
    slot_of(p, s->mask)->batched = false;
    slot_of(p, s->len)->shape[0] = 2;
    slot_of(p, s->len)->dropped = 1;
}

/* q without batch: B comes from k and v. */
static void query_axes_drop(struct problem *p)
{
    p->q.shape[0] = 1;
    p->q.batched = false;
}

/* ---- scores and sinks ------------------------------------------------------------ */

/* Keys of scores +Inf, -Inf, 0, the rest far below. */
static void infinite_scores(struct problem *p)
{
    floats_set(&p->q, 1);
    floats_set(&p->source[0].k, -1000);
    float_set(&p->source[0].k, 0, INFINITY);
    float_set(&p->source[0].k, 1, -INFINITY);
    float_set(&p->source[0].k, 2, 0);
}

/* -Inf is capped as well, and so removes no key: what it holds counts. */
static void capped_infinity(struct problem *p)
{
    infinite_scores(p);
    float_set(&p->source[0].k, 0, 0);
    float_set(&p->source[0].v, 1, NAN);
}

static void all_finite(const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&call->out); i++)
        expect(v, isfinite(out_at(call, i)), "a capped score is finite, and so is the row");
}

static void all_nan(const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&call->out); i++)
        expect(v, isnan(out_at(call, i)), "the row is NaN");
}

static void lse_is_sink(const struct call *call, struct verdict *v)
{
    const struct array *lse = &call->out_lse;

    for (int64_t i = 0; i < cf_array_count(lse); i++)
        expect(v, cf_array_bits(lse, i) == cf_encode(HEED_F32, 2.5f), "lse is the sink");
    for (int64_t i = 0; i < cf_array_count(&call->out); i++)
        expect(v, cf_array_bits(&call->out, i) == 0, "an empty row is +0");
}

static void lse_is_nan(const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&call->out_lse); i++)
        expect(v, cf_array_bits(&call->out_lse, i) == 0x7fc00000u, "lse is the canonical NaN");
}

static void lse_is_plus_inf(const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&call->out_lse); i++)
        expect(v, cf_array_bits(&call->out_lse, i) == 0x7f800000u, "lse is +Inf, as the sink");
}

static void lse_is_none(const struct call *call, struct verdict *v)
{
    for (int64_t i = 0; i < cf_array_count(&call->out_lse); i++)
        expect(v, cf_array_bits(&call->out_lse, i) == 0xff800000u, "lse is -Inf");
}

static void sinks_plain(struct problem *p)
{
    floats_set(&p->sinks, 2.5f);
}

static void sinks_nan(struct problem *p)
{
    floats_set(&p->sinks, NAN);
}

static void sinks_inf(struct problem *p)
{
    floats_set(&p->sinks, INFINITY);
}

/* Two keys, of scores 0 and `far`; the second one's value is 2^100. */
static void two_weights(struct problem *p, float far)
{
    p->scale = 1;
    floats_set(&p->q, 1);
    float_set(&p->source[0].k, 0, 0);
    float_set(&p->source[0].k, 1, far);
    float_set(&p->source[0].v, 0, 1);
    float_set(&p->source[0].v, 1, 0x1p100f);
}

static void weight_kept(struct problem *p)
{
    two_weights(p, -68.5f); /* 2^-98.8, and the maximum counts as 2^1 */
}

static void weight_dropped(struct problem *p)
{
    two_weights(p, -69.5f);
}

static void above_one(const struct call *call, struct verdict *v)
{
    expect(v, out_at(call, 0) > 1.5f, "a weight of 2^-100 of the block's is kept");
}

static void just_one(const struct call *call, struct verdict *v)
{
    expect(v, out_at(call, 0) == 1, "a weight below 2^-100 is 0");
}

static void mean_of_values(struct problem *p)
{
    for (int64_t i = 0; i < 4; i++)
        float_set(&p->source[0].v, i, (float)(i * i));
}

static void just_mean(const struct call *call, struct verdict *v)
{
    expect(v, out_at(call, 0) == 3.5f, "without channels all keys weigh the same");
}

/* ---- slots ------------------------------------------------------------------------- */

static void table_empty(struct problem *p)
{
    slot_of(p, p->source[0].bias[0].t)->shape[3] = 0;
}

static void map_empty(struct problem *p)
{
    slot_of(p, p->source[0].bias[0].map)->shape[3] = 0;
}

/* Constant maps may name what the table has not: such an entry adds nothing. */
static void map_beyond(struct problem *p)
{
    struct array *map = slot_of(p, p->source[0].bias[0].map);

    for (int64_t i = 0; i < map->shape[3]; i++)
        cf_array_set_int(map, i, i % 3 == 0 ? -1 - i : i % 3 == 1 ? 1000 + i : 0);
}

static void lengths_long(struct problem *p)
{
    if (p->q_len)
        ints_set(slot_of(p, p->q_len), 9999);
    if (p->source[0].len)
        ints_set(slot_of(p, p->source[0].len), 9999);
}

static void begins_first(struct problem *p)
{
    ints_set(slot_of(p, p->source[0].index), 0);
    lengths_long(p);
}

static void listed_minus_one(struct problem *p)
{
    cf_array_set_int(slot_of(p, p->source[0].index), 0, -1);
}

static void listed_minus_two(struct problem *p)
{
    cf_array_set_int(slot_of(p, p->source[0].index), 0, -2);
}

static void listed_beyond(struct problem *p)
{
    cf_array_set_int(slot_of(p, p->source[0].index), 0, 33);
}

/* A list for keys and rows: 7 rows, 33 keys. */
static void global_set(struct problem *p, int64_t last)
{
    struct array *list = slot_of(p, p->source[0].term[0]);

    ints_set(list, -1);
    cf_array_set_int(list, 0, last);
}

static void global_last_row(struct problem *p)
{
    global_set(p, 6);
}

static void global_beyond_rows(struct problem *p)
{
    global_set(p, 7);
}

/* As keys the list goes on where as rows it ends. */
static void global_keys_go_on(struct problem *p)
{
    struct array *list = slot_of(p, p->source[0].term[0]);

    ints_set(list, -1);
    cf_array_set_int(list, 0, 2);
    if (list->shape[3] > 1)
        cf_array_set_int(list, 1, 20);
}

static void segments_odd(struct problem *p)
{
    struct array *ranges = slot_of(p, p->source[0].term[0]);
    const int64_t values[] = { -5, 3, 9, 4, 30, 99, -7, -2, 4, 4, INT32_MIN, INT32_MAX, 0, 1 };

    for (int64_t i = 0; i < cf_array_count(ranges); i++)
        cf_array_set_int(ranges, i, values[i % 14]);
}

static void segment_negative(struct problem *p)
{
    cf_array_set_int(slot_of(p, p->source[0].term[0]), 0, -1);
}

static void segment_reversed(struct problem *p)
{
    cf_array_set_int(slot_of(p, p->source[0].term[0]), 0, 9);
    cf_array_set_int(slot_of(p, p->source[0].term[0]), 1, 4);
}

/* Segments may overlap and go back: ranges of one term are not ordered among each other. */
static void segments_back(struct problem *p)
{
    struct array *ranges = slot_of(p, p->source[0].term[0]);

    for (int64_t i = 0; i < cf_array_count(ranges); i += 2) {
        cf_array_set_int(ranges, i, 20 - i / 2);
        cf_array_set_int(ranges, i + 1, 25 - i / 2);
    }
}

/* Three windows and two segments are five ranges. */
static void ranges_five(struct problem *p)
{
    const int at = cf_at_term(0, 0), more = cf_at_term(0, 3);

    for (int t = 0; t < 2; t++) {
        memcpy(&p->c.v[more + t * T_COUNT], &p->c.v[at], T_COUNT * sizeof p->c.v[0]);
        p->c.v[more + t * T_COUNT + T_LEFT] = 20 + t;
    }
    p->c.v[cf_at_source(0) + S_NT] = 5;
}

static void ranges_four(struct problem *p)
{
    ranges_five(p);
    p->c.v[cf_at_source(0) + S_NT] = 4;
}

/* The keys end 8 before 2^60; of the slot's 2^63 - 1 no more than 2^60 is added to q_pos0. */
static void positions_far(struct problem *p)
{
    p->c.v[cf_at_source(0) + S_POS0] = (INT64_C(1) << 60) - 40;
    ints_set(slot_of(p, p->q_pos), INT64_MAX);
}

static void positions_far_back(struct problem *p)
{
    p->c.v[cf_at_source(0) + S_POS0] = -(INT64_C(1) << 60);
    p->c.v[G_QPOS0] = 7;
    ints_set(slot_of(p, p->q_pos), INT64_MIN);
}

#define ONE   "op=attn batch=1 h=1 nq=1 d=1 dv=1 "
#define SMALL "op=attn batch=2 h=2 nq=7 d=8 dv=7 lse=plain "

static const struct named named[] = {
    { "leading batch axes are left out",
      "op=attn batch=2x2 nq=7 d=8 dv=7 s0.len=rt s0.mask=1 seed=1", leading_axes_drop, NULL, 0 },
    { "B comes from k where q has no batch axes", "op=attn batch=3 nq=7 d=8 dv=7 seed=1",
      query_axes_drop, NULL, 0 },
    { "B comes from the begins", SMALL "ql=ragged qlen=rt seed=1", NULL, NULL, 0 },
    { "lse of an empty row is -Inf", SMALL "sink=normal s0.nk=0 seed=1", sinks_plain, lse_is_none,
      0 },
    { "lse of an empty row is the sink, where it counts",
      "op=attn batch=2 h=2 nq=7 d=8 dv=7 lse=sink sink=normal s0.nk=0 seed=1", sinks_plain,
      lse_is_sink, 0 },
    { "lse of an empty row is a NaN sink, canonical",
      "op=attn nq=7 d=8 dv=7 lse=sink sink=normal s0.nk=0 seed=1", sinks_nan, lse_is_nan, 0 },
    { "lse of an empty row is a sink of +Inf",
      "op=attn nq=7 d=8 dv=7 lse=sink sink=normal s0.nk=0 seed=1", sinks_inf, lse_is_plus_inf, 0 },
    { "a sink of NaN makes rows NaN", SMALL "sink=normal seed=1", sinks_nan, all_nan, 0 },
    { "a sink of +Inf makes rows NaN", SMALL "sink=normal seed=1", sinks_inf, all_nan, 0 },
    { "a score of +Inf makes the row NaN", ONE "lse=plain s0.nk=16 seed=1", infinite_scores,
      all_nan, 0 },
    { "a score of +Inf under softcap is the cap", ONE "cap=20 lse=plain s0.nk=16 seed=1",
      infinite_scores, all_finite, 0 },
    { "a score of -Inf under softcap removes no key", ONE "cap=20 lse=plain s0.nk=16 seed=1",
      capped_infinity, all_nan, 0 },
    { "the default scale of no channels is 0", "op=attn batch=1 h=1 nq=1 d=0 dv=1 s0.nk=4 seed=1",
      mean_of_values, just_mean, 0 },
    { "a weight of 2^-100 counts", ONE "s0.nk=2 scale=given seed=1", weight_kept, above_one, 0 },
    { "a smaller weight is 0", ONE "s0.nk=2 scale=given seed=1", weight_dropped, just_one, 0 },
    { "a table without entries adds nothing", SMALL "s0.nb=1 s0.b0.kind=table seed=1", table_empty,
      NULL, 0 },
    { "a map without entries adds nothing", SMALL "s0.nb=1 s0.b0.kind=table s0.b0.map=const seed=1",
      map_empty, NULL, 0 },
    { "a constant map may name what there is not",
      SMALL "s0.nb=1 s0.b0.kind=table s0.b0.map=const s0.b0.zero=17 seed=1", map_beyond, NULL, 0 },
    { "a mask bounds packed keys", SMALL "s0.lay=ragged s0.nk=16 s0.len=rt s0.mask=1 seed=1",
      begins_first, NULL, 0 },
    { "a mask of one key bounds packed keys",
      SMALL "s0.lay=ragged s0.nk=1 s0.len=rt s0.mask=h seed=1", begins_first, NULL, 0 },
    { "a bias bounds packed keys", SMALL "s0.lay=ragged s0.nk=16 s0.len=rt s0.nb=1 seed=1",
      begins_first, NULL, 0 },
    { "a bias of one key broadcasts", SMALL "s0.lay=ragged s0.nk=1 s0.len=rt s0.nb=1 seed=1",
      begins_first, NULL, 0 },
    { "coordinates of keys bound packed keys",
      SMALL "s0.lay=ragged s0.nk=1 s0.len=rt s0.nb=1 s0.b0.kind=alibi s0.b0.coord=k seed=1",
      begins_first, NULL, 0 },
    { "a bias bounds packed queries",
      "op=attn batch=1 h=2 nq=7 d=8 dv=7 ql=ragged qlen=rt s0.nb=1 s0.b0.keys=1 seed=1",
      lengths_long, NULL, 0 },
    { "coordinates of queries bound packed queries",
      "op=attn batch=1 nq=7 d=8 dv=7 ql=ragged qlen=rt s0.nb=1 s0.b0.kind=alibi s0.b0.coord=q "
      "seed=1",
      lengths_long, NULL, 0 },
    { "a constant list for keys and rows names the last row",
      SMALL "s0.nt=1 s0.t0.kind=global s0.t0.gf=both s0.t0.slot=const seed=1", global_last_row,
      NULL, 0 },
    { "a constant list for keys and rows names no key beyond the rows",
      SMALL "s0.nt=1 s0.t0.kind=global s0.t0.gf=both s0.t0.slot=const seed=1", global_beyond_rows,
      NULL, HEED_E_INDEX },
    { "a constant list for keys alone may",
      SMALL "s0.nt=1 s0.t0.kind=global s0.t0.gf=keys s0.t0.slot=const seed=1", global_beyond_rows,
      NULL, 0 },
    { "a run-time list ends apart for keys and rows",
      SMALL "s0.nt=1 s0.t0.kind=global s0.t0.gf=both s0.t0.slot=rt seed=2", global_keys_go_on, NULL,
      0 },
    { "run-time segments may begin below 0 and be reversed",
      SMALL "s0.nt=1 s0.t0.kind=segment s0.t0.slot=rt seed=1", segments_odd, NULL, 0 },
    { "a constant segment below 0", SMALL "s0.nt=1 s0.t0.kind=segment s0.t0.slot=const seed=1",
      segment_negative, NULL, HEED_E_INDEX },
    { "a constant segment that is reversed",
      SMALL "s0.nt=1 s0.t0.kind=segment s0.t0.slot=const seed=1", segment_reversed, NULL,
      HEED_E_INDEX },
    { "constant segments in any order", SMALL "s0.nt=1 s0.t0.kind=segment s0.t0.slot=const seed=1",
      segments_back, NULL, 0 },
    { "a segment counts as a range",
      SMALL "s0.nt=3 s0.t0.kind=window s0.t1.kind=segment s0.t1.slot=const s0.t2.kind=segment "
            "s0.t2.slot=rt seed=1",
      ranges_five, NULL, HEED_E_UNSUPPORTED },
    { "four ranges with segments",
      SMALL "s0.nt=3 s0.t0.kind=window s0.t1.kind=segment s0.t1.slot=const s0.t2.kind=segment "
            "s0.t2.slot=rt seed=1",
      ranges_four, NULL, 0 },
    { "a constant list may have a place of -1", SMALL "s0.lay=listed seed=1", listed_minus_one,
      NULL, 0 },
    { "but of nothing below", SMALL "s0.lay=listed seed=1", listed_minus_two, NULL, HEED_E_INDEX },
    { "nor of what there is not", SMALL "s0.lay=listed seed=1", listed_beyond, NULL, HEED_E_INDEX },
    { "positions at run time are clamped before they are added",
      SMALL "qpos0=-7 qpos=rt s0.nt=1 s0.t0.kind=window seed=1", positions_far, NULL, 0 },
    { "and below as well", SMALL "qpos0=5 qpos=rt s0.nt=1 s0.t0.kind=window seed=1",
      positions_far_back, NULL, 0 },
};

static struct problem *problem_of(const struct named *n)
{
    struct cs c;
    char why[128];
    struct problem *p = cf_case_parse(n->line, &c, why) ? cf_problem_make(&c, NULL, 0, true) : NULL;

    if (p && n->edit)
        n->edit(p);
    return p;
}

static void judge(const struct named *n, struct subject *s)
{
    if (!cf_run_ok(s->got, s->v, n->name))
        return;
    cf_against_reference(s, "against the reference");
    if (!s->v->failed)
        cf_judge_bound(s->problem, cf_call_of(s->got), s->v);
    if (n->want && !s->v->failed)
        n->want(cf_call_of(s->got), s->v);
}

/* One device; s->ref NULL: this is the reference. */
static void device_try(const struct named *n, struct subject *s, const struct target *on,
                       struct tally *tally)
{
    heed_report report = { .size = sizeof report };
    bool refused = false;

    if (!s->got) {
        cf_fail(s->v, "no memory");
    } else {
        const heed_status status = s->got->check(on->device, s->got->desc, &report);
        cf_check_and_plan(s->got, on->device, s->v);
        refused = cf_refused(on, status, &report);
        if (!refused && status != n->status)
            cf_fail(s->v, "check answers %s (%s: %s), wanted %s", heed_status_name(status),
                    report.field, report.message, heed_status_name(n->status));
        else if (status >= 0)
            judge(n, s);
    }
    if (refused && !s->v->failed)
        snprintf(s->v->why, sizeof s->v->why, "refused: %s", report.field);
    cf_tap(tally, !s->v->failed, refused ? s->v->why : NULL, on->name, "named", n->name, s->v->why);
}

void cf_family_named(const struct target *targets, int n_targets, struct tally *tally)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        struct problem *p = problem_of(&named[i]);
        struct job *ref = NULL;

        if (!p)
            cf_tap(tally, false, NULL, "all", "named", named[i].name, "the line is wrong");
        for (int t = 0; t < n_targets && p; t++) {
            struct verdict v = { 0 };
            struct subject s = { .op = &cf_op_attn, .problem = p, .ref = ref, .v = &v };

            s.got = cf_job_make(&cf_attn_families, p, &targets[t], 0, p->c.seed);
            device_try(&named[i], &s, &targets[t], tally);
            if (t)
                job_drop(s.got);
            else
                ref = s.got;
        }
        job_drop(ref);
        cf_problem_free(p);
    }
}
