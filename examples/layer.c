/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An encoder of a long document, layer by layer: embedded tokens, then for each layer projections,
 * rotary positions, a window with global tokens, and a hidden layer with GELU, each with its
 * residual and norm. Plans are made once; layers differ in their weights alone. The weights are
 * noise. It runs on the reference and on the fastest device, and wants the same words.
 */
#include <heed/mechanisms.h>
#include <heed/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 200, HEADS = 4, D = 16, DIM = HEADS * D, HIDDEN = 4 * DIM, LAYERS = 2, WORDS = 50 };

static heed_report why = { .size = sizeof why };

static void must(heed_status status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s: %s\n", why.field, why.message);
    exit(EXIT_FAILURE);
}

/* ---- what a model has ---- */

struct map {
    float w[HIDDEN * DIM], bias[HIDDEN];
};

struct layer {
    struct map q, k, v, out, up, down;
    float norm[2][2][DIM]; /* of attention, of the hidden layer: weight, bias */
};

static struct model {
    float words[WORDS * DIM], cos[TOKENS * D / 2], sin[TOKENS * D / 2];
    struct layer layer[LAYERS];
} model;

/* Of one text: x goes through all layers. q, k, v, o: heads side by side in a row. */
static struct rows {
    int32_t ids[TOKENS];
    float x[TOKENS * DIM], q[TOKENS * DIM], k[TOKENS * DIM], v[TOKENS * DIM], o[TOKENS * DIM];
    float hidden[TOKENS * HIDDEN];
} text;

static void noise(float *to, int64_t n, float size)
{
    static uint32_t state = 1;

    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = size * ((float)(state >> 8) / (float)(1 << 23) - 1);
    }
}

static void model_make(void)
{
    noise(model.words, WORDS * DIM, 1);
    must(heed_rope_tables(NULL, 0, TOKENS, D / 2, model.cos, model.sin));
    for (int l = 0; l < LAYERS; l++) {
        struct layer *const at = &model.layer[l];
        struct map *const maps[] = { &at->q, &at->k, &at->v, &at->out, &at->up, &at->down };

        for (int i = 0; i < 6; i++) {
            noise(maps[i]->w, HIDDEN * DIM, 0.2f);
            noise(maps[i]->bias, HIDDEN, 0.1f);
        }
        for (int i = 0; i < 2; i++) {
            noise(at->norm[i][0], DIM, 0.1f);
            noise(at->norm[i][1], DIM, 0.1f);
            for (int c = 0; c < DIM; c++)
                at->norm[i][0][c] += 1;
        }
    }
    for (int i = 0; i < TOKENS; i++)
        text.ids[i] = i * 7 % WORDS;
}

/* ---- plans ---- */

/* An operation, and the memory of a run. */
struct encoder {
    heed_queue *queue;
    heed_plan *embed, *project, *out, *up, *down, *rope, *attend, *norm;
};

static heed_tensor rows_of(int64_t d)
{
    return heed_array4(HEED_F32, NULL, 1, 1, TOKENS, d).t;
}

/* A row's heads side by side. */
static heed_tensor heads(void)
{
    return (heed_tensor){ HEED_F32, 4, { 1, HEADS, TOKENS, D }, { 0, D, DIM, 1 } };
}

/* y = act(W x + bias), plus what stands in y where `residual`. */
static heed_plan *linear_plan(heed_device *device, int64_t in, int64_t out, uint32_t act,
                              int residual)
{
    const int64_t w[2] = { out, in };
    heed_linear_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE, .act = act,
                              .x = rows_of(in), .y = rows_of(out) };
    heed_plan *plan;

    desc.w = heed_array_dense(HEED_F32, NULL, 2, w).t;
    desc.bias = heed_array_dense(HEED_F32, NULL, 1, &out).t;
    if (residual)
        desc.add = desc.y;
    must(heed_linear_plan(device, &desc, &plan, &why));
    return plan;
}

static heed_plan *attend_plan(heed_device *device)
{
    const heed_longformer_desc desc = { .size = sizeof desc, .q = heads(), .o = heads(),
                                        .text = { .k = heads(), .v = heads() }, .window = 32,
                                        .n_globals = 1 };
    heed_mechanism m = { .size = sizeof m };
    heed_plan *plan;

    must(heed_longformer(&desc, &m, &why));
    m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    must(heed_attn_plan(device, &m.desc, &plan, &why));
    return plan;
}

static void encoder_make(struct encoder *e, heed_device *device)
{
    const int64_t words[2] = { WORDS, DIM }, tables[2] = { TOKENS, D / 2 }, ids = TOKENS, dim = DIM;
    const heed_tensor vector = heed_array_dense(HEED_F32, NULL, 1, &dim).t;
    const heed_tensor table = heed_array_dense(HEED_F32, NULL, 2, tables).t;
    const heed_embed_desc embed = { .size = sizeof embed, .scale = sqrt(DIM),
                                    .table = heed_array_dense(HEED_F32, NULL, 2, words).t,
                                    .ids = heed_array_dense(HEED_I32, NULL, 1, &ids).t,
                                    .y = rows_of(DIM) };
    const heed_rope_desc rope = { .size = sizeof rope, .x = heads(), .y = heads(), .cos = table,
                                  .sin = table };
    const heed_norm_desc norm = { .size = sizeof norm, .kind = HEED_NORM_LAYER, .eps = 1e-5,
                                  .x = rows_of(DIM), .y = rows_of(DIM), .weight = vector,
                                  .bias = vector };

    must(heed_queue_create(device, 0, &e->queue, &why));
    must(heed_embed_plan(device, &embed, &e->embed, &why));
    must(heed_rope_plan(device, &rope, &e->rope, &why));
    must(heed_norm_plan(device, &norm, &e->norm, &why));
    e->project = linear_plan(device, DIM, DIM, HEED_ACT_NONE, 0);
    e->out = linear_plan(device, DIM, DIM, HEED_ACT_NONE, 1);
    e->up = linear_plan(device, DIM, HIDDEN, HEED_ACT_GELU, 0);
    e->down = linear_plan(device, HIDDEN, DIM, HEED_ACT_NONE, 1);
    e->attend = attend_plan(device);
}

static void encoder_drop(struct encoder *e)
{
    heed_plan *const plans[] = { e->embed, e->project, e->out, e->up,
                                 e->down,  e->rope,    e->attend, e->norm };

    for (int i = 0; i < 8; i++)
        heed_plan_drop(plans[i]);
    heed_queue_destroy(e->queue);
}

/* ---- runs ---- */

static heed_buf at(const void *data)
{
    return (heed_buf){ .handle = (void *)(uintptr_t)data };
}

static void apply(const struct encoder *e, const heed_plan *plan, const struct map *map,
                  const float *x, float *y)
{
    const heed_linear_args args = { .size = sizeof args, .x = at(x), .w = at(map->w),
                                    .bias = at(map->bias), .add = at(y), .y = at(y) };

    must(heed_linear_run(plan, e->queue, &args, NULL, &why));
}

static void turn(const struct encoder *e, float *x)
{
    const heed_rope_args args = { .size = sizeof args, .x = at(x), .cos = at(model.cos),
                                  .sin = at(model.sin), .y = at(x) };

    must(heed_rope_run(e->rope, e->queue, &args, NULL, &why));
}

static void norm(const struct encoder *e, float (*vectors)[DIM], float *x)
{
    const heed_norm_args args = { .size = sizeof args, .x = at(x), .weight = at(vectors[0]),
                                  .bias = at(vectors[1]), .y = at(x) };

    must(heed_norm_run(e->norm, e->queue, &args, NULL, &why));
}

static void layer_run(const struct encoder *e, struct layer *l)
{
    const heed_kv_bufs kv = { at(text.k), at(text.v) };
    heed_kv_bufs pairs[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    heed_attn_args args = { .size = sizeof args, .kv_size = sizeof pairs[0], .q = at(text.q),
                            .o = at(text.o), .kv = pairs, .slots = slots,
                            .n_slots = HEED_MECHANISM_SLOTS };

    apply(e, e->project, &l->q, text.x, text.q);
    apply(e, e->project, &l->k, text.x, text.k);
    apply(e, e->project, &l->v, text.x, text.v);
    turn(e, text.q);
    turn(e, text.k);
    pairs[0] = kv;
    must(heed_attn_run(e->attend, e->queue, &args, NULL, &why));
    apply(e, e->out, &l->out, text.o, text.x);          /* onto the rows before */
    norm(e, l->norm[0], text.x);
    apply(e, e->up, &l->up, text.x, text.hidden);
    apply(e, e->down, &l->down, text.hidden, text.x);
    norm(e, l->norm[1], text.x);
}

static void encode(heed_device *device)
{
    const heed_embed_args embed = { .size = sizeof embed, .table = at(model.words),
                                    .ids = at(text.ids), .y = at(text.x) };
    struct encoder e;

    encoder_make(&e, device);
    must(heed_embed_run(e.embed, e.queue, &embed, NULL, &why));
    for (int l = 0; l < LAYERS; l++)
        layer_run(&e, &model.layer[l]);
    must(heed_queue_wait(e.queue, &why));
    encoder_drop(&e);
}

int main(void)
{
    static float first[TOKENS * DIM];
    const char *const names[] = { "reference", "cpu" };
    heed_runtime *runtime = NULL;

    must(heed_runtime_create(NULL, &runtime, &why));
    model_make();
    for (int i = 0; i < 2; i++) {
        heed_device *device;

        must(heed_device_find(runtime, names[i], &device, &why));
        encode(device);
        printf("%-10s row 0 of layer %d begins %.5f %.5f %.5f\n", names[i], LAYERS,
               (double)text.x[0], (double)text.x[1], (double)text.x[2]);
        if (i == 0)
            memcpy(first, text.x, sizeof first);
    }
    heed_runtime_destroy(runtime);
    if (memcmp(first, text.x, sizeof first) != 0) {
        printf("the words differ\n");
        return EXIT_FAILURE;
    }
    printf("%d words, all equal\n", TOKENS * DIM);
    return EXIT_SUCCESS;
}
