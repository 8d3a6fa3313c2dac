/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge: the bits of an attention without channels whose keys are the parts; and the parts of an
 * attention that was split by its keys against one call, within a bound derived from the data
 * (after Blanchard, Higham and Higham 2021, as heed-conform derives that of attention).
 */
#include "operation_world.h"

WORLD_OPERATION(merge)

enum { H = 3 };

static heed_plan *attention_plan(const heed_attn_desc *desc)
{
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(world.device, desc, &plan, &world.why) == HEED_OK, "%s: %s",
                  world.why.field, world.why.message);
    return plan;
}

static void attention_run(const heed_attn_desc *desc, const heed_attn_args *args)
{
    heed_plan *plan = attention_plan(desc);

    ck_assert_int_eq(heed_attn_run(plan, world.queue, args, NULL, &world.why), HEED_OK);
    heed_plan_drop(plan);
}

/* ---- the bits: every row is an item, every part a key ---- */

struct parts {
    int64_t p, n, d;
    heed_array o, lse, sinks;   /* [P][1][H][n][d], [P][1][H][n], [H] */
    uint32_t flags;
};

static void as_attention(const struct parts *m, heed_array *o, heed_array *lse)
{
    const int64_t p = m->p, n = m->n, d = m->d;
    const heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = 1 };
    const heed_slot slot = {
        .t = { HEED_F32, 4, { n, H, 1, p }, { 1, n, 0, H * n } },
    };
    const heed_source source = {
        .k = { HEED_F32, 4, { n, H, p, 0 }, { 0, 0, 0, 1 } },
        .v = { m->o.t.dtype, 4, { n, H, p, d }, { d, n * d, H * n * d, 1 } },
        .biases = &bias, .n_biases = 1, .bias_size = sizeof(bias),
    };
    const heed_kv_bufs kv = { { 0 }, m->o.buf };
    const heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE | m->flags,
        .q = { HEED_F32, 4, { n, H, 1, 0 }, { 0, 0, 0, 1 } },
        .o = { HEED_F32, 4, { n, H, 1, d }, { d, n * d, d, 1 } },
        .lse = { HEED_F32, 3, { n, H, 1 }, { 1, n, 1 } },
        .sinks = m->sinks.t, .sources = &source, .n_sources = 1, .source_size = sizeof(source),
        .slots = &slot, .n_slots = 1, .slot_size = sizeof(slot),
    };
    const heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv), .o = o->buf, .lse = lse->buf,
        .sinks = m->sinks.buf, .kv = &kv, .slots = &m->lse.buf, .n_slots = 1,
    };

    attention_run(&desc, &args);
}

static void merged(const struct parts *m, heed_array *o, heed_array *lse)
{
    struct merge_call call = merge_call();

    call.desc.flags |= m->flags;
    GIVE(&call, parts, m->o);
    GIVE(&call, parts_lse, m->lse);
    if (m->sinks.t.ndim > 0)
        GIVE(&call, sinks, m->sinks);
    GIVE(&call, o, *o);
    GIVE(&call, lse, *lse);
    merge_run(&call);
}

/* Of an absent part the row is NaN, which must not be read. */
static struct parts parts_of(uint32_t dtype, int64_t p, int64_t n, int64_t d, int how)
{
    static const float special[] = { INFINITY, NAN, -3e38f, 3e38f, 1e30f, -400, 88, -0.0f };
    struct parts m = { .p = p, .n = n, .d = d };

    m.o = world_floats(dtype, p, H, n, d);
    m.lse = world_array(HEED_F32, p, H, n, -1, -1);
    for (int64_t i = 0; i < p * H * n; i++) {
        float lse = world_float();

        if (how > 0 && world_range(0, 3) == 0)
            lse = -INFINITY;
        if (how > 1 && world_range(0, p * 2) == 0)
            lse = special[world_range(0, 7)];
        world_f32(&m.lse)[i] = lse;
        for (int64_t t = 0; t < d && lse == -INFINITY; t++) {
            if (dtype == HEED_F32)
                world_f32(&m.o)[i * d + t] = NAN;
            else
                ((uint16_t *)m.o.buf.handle)[i * d + t] = 0x7fff;
        }
    }
    if (how % 2) {
        m.sinks = world_array(HEED_F32, H, -1, -1, -1, -1);
        for (int64_t h = 0; h < H; h++)
            world_f32(&m.sinks)[h] = how > 2 && h == 0 ? -INFINITY : world_float();
        m.flags = how > 1 ? HEED_ATTN_LSE_WITH_SINK : 0;
    }
    return m;
}

LOOP_TEST(a_merge_is_an_attention_over_the_parts, world_devices())
{
    static const int64_t counts[] = { 0, 1, 2, 7, 63, 64, 65, 1030, 2100 };

    world_open(_i);
    for (int i = 0; i < 9 * 4; i++) {
        const int64_t n = i % 9 < 7 ? 5 : 2, d = world_range(1, 20);
        const struct parts m = parts_of(i % 2 ? HEED_F32 : HEED_BF16, counts[i % 9], n, d, i / 9);
        heed_array want = world_array(HEED_F32, 1, H, n, d, -1);
        heed_array o = world_array(HEED_F32, 1, H, n, d, -1);
        heed_array want_lse = world_array(HEED_F32, 1, H, n, -1, -1);
        heed_array lse = world_array(HEED_F32, 1, H, n, -1, -1);

        as_attention(&m, &want, &want_lse);
        merged(&m, &o, &lse);
        world_same(&o, &want, "o");
        world_same(&lse, &want_lse, "lse");
    }
}

LOOP_TEST(no_part_is_an_empty_row, world_devices())
{
    float lse[2] = { -INFINITY, -INFINITY }, o[1], out[1], sink[1] = { 3 };
    float parts[2] = { NAN, NAN };
    const int64_t one = 1;

    world_open(_i);
    for (int p = 0; p <= 2; p += 2) {
        for (int with = 0; with < 2; with++) {
            struct merge_call call = merge_call();

            if (with)
                call.desc.flags |= HEED_ATTN_LSE_WITH_SINK;
            o[0] = out[0] = 99;
            GIVE(&call, parts, heed_array_dense(HEED_F32, parts, 3, (int64_t[]){ p, 1, 1 }));
            GIVE(&call, parts_lse, heed_array_dense(HEED_F32, lse, 2, (int64_t[]){ p, 1 }));
            GIVE(&call, sinks, heed_array_dense(HEED_F32, sink, 1, &one));
            GIVE(&call, o, heed_array_dense(HEED_F32, o, 2, (int64_t[]){ 1, 1 }));
            GIVE(&call, lse, heed_array_dense(HEED_F32, out, 1, &one));
            merge_run(&call);
            ck_assert_uint_eq(bits_of(o[0]), 0);
            ck_assert_uint_eq(bits_of(out[0]), bits_of(with ? 3.0f : -INFINITY));
        }
    }
}

/* ---- against one call ---- */

static const double u = 0x1p-24;

/* A key as the exact row has it, and how far its logit and its value may be off. */
struct key {
    double y, y_error, size;    /* size: of the sum that y is */
    double v, v_error;
};

struct exact {
    double o, o_bound, lse, lse_bound;
};

static struct exact row_of(const struct key *key, int64_t n)
{
    const double rescales = (double)n / 16 + 2, exp_error = 4;
    const double gamma = ((double)n + rescales) * u / (1 - ((double)n + rescales) * u);
    double most = -INFINITY, reach = 0, sum = 0, loss = 0, o = 0, spread = 0, all = 0;
    struct exact row;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, key[i].y);
        reach = fmax(reach, key[i].size);
    }
    for (int64_t i = 0; i < n; i++) {
        sum += exp(key[i].y - most);
        o += exp(key[i].y - most) * key[i].v;
    }
    row.o = o / sum;
    row.lse = most + log(sum);
    for (int64_t i = 0; i < n; i++) {
        const double weight = exp(key[i].y - most) / sum;
        const double roundings = 3 * (most - key[i].y) + 2 * reach +
                                 (rescales + 1) * exp_error + rescales;
        const double error = weight * expm1(key[i].y_error + u * roundings);

        loss += error;
        spread += error * fabs(key[i].v - row.o) + (weight + error) * key[i].v_error +
                  gamma * (weight + error) * fabs(key[i].v);
        all += fabs(key[i].v) + fabs(row.o);
    }
    ck_assert(loss + gamma < 0.5);
    row.o_bound = (spread + (gamma + 4 * u) * fabs(row.o) + 0x1p-98 * all) / (1 - loss - gamma);
    row.o_bound += u * (fabs(row.o) + row.o_bound) + 0x1p-149;
    row.lse_bound = -log1p(-(loss + gamma)) +
                    4 * u * (fabs(most) + fabs(log(sum)) + fabs(row.lse) + 1);
    return row;
}

enum { N_Q = 3, MOST_KEYS = 400, D = 16, D_V = 5, MOST_PARTS = 64 };

struct split {
    int64_t n_k, n_parts, begin[MOST_PARTS + 1];
    heed_array q, k, v, o, lse, sinks;
    heed_array parts, parts_lse, merged, merged_lse;
};

/* Attention over keys begin .. end - 1. */
static void part_run(const struct split *s, int64_t begin, int64_t end, heed_buf o, heed_buf lse,
                     const heed_array *sinks)
{
    heed_source source = { .k = s->k.t, .v = s->v.t };
    heed_kv_bufs kv = { s->k.buf, s->v.buf };
    heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .q = s->q.t, .o = s->o.t,
        .lse = s->lse.t, .sources = &source, .n_sources = 1, .source_size = sizeof(source),
    };
    heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv), .q = s->q.buf, .o = o, .lse = lse, .kv = &kv,
    };

    source.k.shape[2] = source.v.shape[2] = end - begin;
    kv.k.offset = (uint64_t)begin * D * sizeof(float);
    kv.v.offset = (uint64_t)begin * D_V * sizeof(float);
    heed_array_split(sinks, &desc.sinks, &args.sinks);
    attention_run(&desc, &args);
}

static struct split split_of(int64_t n_k, int64_t n_parts)
{
    struct split s = {
        .n_k = n_k, .n_parts = n_parts, .q = world_floats(HEED_F32, 1, H, N_Q, D),
        .k = world_floats(HEED_F32, 1, H, n_k, D), .v = world_floats(HEED_F32, 1, H, n_k, D_V),
        .o = world_array(HEED_F32, 1, H, N_Q, D_V, -1),
        .lse = world_array(HEED_F32, 1, H, N_Q, -1, -1),
        .parts = world_array(HEED_F32, n_parts, H, N_Q, D_V, -1),
        .parts_lse = world_array(HEED_F32, n_parts, H, N_Q, -1, -1),
        .merged = world_array(HEED_F32, 1, H, N_Q, D_V, -1),
        .merged_lse = world_array(HEED_F32, 1, H, N_Q, -1, -1),
        .sinks = world_array(HEED_F32, H, -1, -1, -1, -1),
    };

    for (int64_t i = 0; i < H; i++)
        world_f32(&s.sinks)[i] = world_float();
    s.begin[n_parts] = n_k;
    for (int64_t p = 1; p < n_parts; p++) {     /* insertion sort: some parts are empty */
        const int64_t cut = world_range(0, n_k);
        int64_t at = p;

        for (; at > 1 && s.begin[at - 1] > cut; at--)
            s.begin[at] = s.begin[at - 1];
        s.begin[at] = cut;
    }
    return s;
}

static void split_run(const struct split *s, bool sinks)
{
    struct parts m = { .o = s->parts, .lse = s->parts_lse, .sinks = s->sinks };
    heed_array o = s->merged, lse = s->merged_lse;

    if (!sinks)
        m.sinks.t.ndim = 0;
    part_run(s, 0, s->n_k, s->o.buf, s->lse.buf, &m.sinks);
    for (int64_t p = 0; p < s->n_parts; p++) {
        heed_buf part = s->parts.buf, part_lse = s->parts_lse.buf;

        part.offset = (uint64_t)p * H * N_Q * D_V * sizeof(float);
        part_lse.offset = (uint64_t)p * H * N_Q * sizeof(float);
        part_run(s, s->begin[p], s->begin[p + 1], part, part_lse, NULL);
    }
    merged(&m, &o, &lse);
}

static int64_t keys_make(const struct split *s, int64_t row, int64_t c, int64_t begin, int64_t end,
                         struct key *key)
{
    const int64_t h = row / N_Q;

    for (int64_t j = begin; j < end; j++) {
        struct key *to = &key[j - begin];

        *to = (struct key){ .v = (double)world_f32(&s->v)[(h * s->n_k + j) * D_V + c] };
        for (int64_t t = 0; t < D; t++) {
            const double x = (double)world_f32(&s->q)[row * D + t] *
                             (double)world_f32(&s->k)[(h * s->n_k + j) * D + t] / 4;

            to->y += x;
            to->size += fabs(x);
        }
        to->y_error = u * (D + 8) * to->size;
    }
    return end - begin;
}

/* The sink as a key of value 0. */
static void sink_add(const struct split *s, int64_t row, struct key *key)
{
    const double z = (double)world_f32(&s->sinks)[row / N_Q];

    *key = (struct key){ .y = z, .size = fabs(z), .y_error = 8 * u * fabs(z) };
}

/* Both results of a channel against the exact one, and against each other; the larger error over
 * its bound. */
static double channel_judge(const struct split *s, int64_t row, int64_t c, bool sinks)
{
    struct key all[MOST_KEYS + 1], part[MOST_KEYS + 1], of_parts[MOST_PARTS + 1];
    const double one = (double)world_f32(&s->o)[row * D_V + c];
    const double joined = (double)world_f32(&s->merged)[row * D_V + c];
    const double lse = (double)world_f32(&s->merged_lse)[row];
    int64_t n = keys_make(s, row, c, 0, s->n_k, all), n_parts = 0;
    struct exact single, plain, both;
    double q;

    for (int64_t p = 0; p < s->n_parts; p++) {
        const int64_t keys = keys_make(s, row, c, s->begin[p], s->begin[p + 1], part);
        struct exact exact;

        if (keys == 0)
            continue;
        exact = row_of(part, keys);
        of_parts[n_parts++] = (struct key){
            .y = exact.lse, .size = fabs(exact.lse), .v = exact.o, .v_error = exact.o_bound,
            .y_error = exact.lse_bound + 2 * u * fabs(exact.lse),
        };
    }
    plain = row_of(of_parts, n_parts);
    ck_assert_msg(fabs(lse - plain.lse) <= plain.lse_bound, "%s: lse %a, not %a", world_name(), lse,
                  plain.lse);
    if (sinks) {
        sink_add(s, row, &all[n++]);
        sink_add(s, row, &of_parts[n_parts++]);
    }
    single = row_of(all, n);
    both = row_of(of_parts, n_parts);
    q = fmax(fabs(joined - both.o) / both.o_bound, fabs(one - single.o) / single.o_bound);
    ck_assert_msg(q <= 1 && fabs(joined - one) <= single.o_bound + both.o_bound,
                  "%s: %lld parts, row %lld, channel %lld: merged %a, in one call %a, wanted %a, "
                  "error / bound %.3f",
                  world_name(), (long long)s->n_parts, (long long)row, (long long)c, joined, one,
                  single.o, q);
    return q;
}

LOOP_TEST(parts_join_to_what_one_call_gives, world_devices())
{
    double worst = 0;

    world_open(_i);
    for (int i = 0; i < 24; i++) {
        const int64_t n_parts = i == 0 ? 1 : i == 1 ? MOST_PARTS : world_range(1, MOST_PARTS);
        const struct split s = split_of(world_range(1, MOST_KEYS), n_parts);

        split_run(&s, i % 2);
        for (int64_t at = 0; at < H * N_Q * D_V; at++)
            worst = fmax(worst, channel_judge(&s, at / D_V, at % D_V, i % 2));
        while (world.n_blocks > 0)
            free(world.blocks[--world.n_blocks]);
    }
    printf("# %s: worst error / bound %.3f\n", world_name(), worst);
}

int main(void)
{
    return suite_run("merge", 0, NULL, world_close);
}
