/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * An encoder of a long document, layer by layer: embedded tokens, then for each layer projections,
 * rotary positions, a window with global tokens, and a hidden layer with GELU, each with its
 * residual and norm. A layer is one plan, whose runs differ in their weights alone. The weights are
 * noise. It runs on the reference and on the fastest device, and wants the same words.
 */
#include <heed/nn.h>
#include <heed/programs.h>

#include <math.h>
#include <stddef.h>
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

/* Of one text: x goes through all layers. */
static struct rows {
    int32_t ids[TOKENS];
    float x[TOKENS * DIM];
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

/* ---- a layer as one plan ---- */

/* Arrays of the program: what a run brings, then what lives in the workspace. */
enum { X, LAYER, COS, SIN, ARGS, Q = ARGS, K, V, O, WIDE, ARRAYS };

/* The layer in the making: a step is what a plan and a run of its operation take. */
struct program {
    heed_program_step steps[16];
    uint32_t n;
    heed_linear_desc linear[6];
    heed_linear_args linear_args[6];
    uint32_t n_linear;
    heed_rope_desc rope;
    heed_rope_args rope_args[2];
    heed_norm_desc norm;
    heed_norm_args norm_args[2];
    heed_mechanism attend;
    heed_attn_args attend_args;
    heed_kv_bufs pairs[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS];
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

static void step(struct program *p, const char *op, const void *desc, const void *args)
{
    p->steps[p->n++] = (heed_program_step){ op, desc, args };
}

/* y = act(W x + bias), plus what stands in y where `residual`. `map`: where in a layer. */
static void linear(struct program *p, size_t map, uint32_t x, int64_t in, uint32_t y, int64_t out,
                   uint32_t act, int residual)
{
    const int64_t w[2] = { out, in };
    heed_linear_desc *desc = &p->linear[p->n_linear];
    heed_linear_args *args = &p->linear_args[p->n_linear++];

    *desc = (heed_linear_desc){ .size = sizeof *desc, .act = act, .x = rows_of(in),
                                .y = rows_of(out) };
    desc->w = heed_array_dense(HEED_F32, NULL, 2, w).t;
    desc->bias = heed_array_dense(HEED_F32, NULL, 1, &out).t;
    if (residual)
        desc->add = desc->y;
    *args = (heed_linear_args){ .size = sizeof *args };
    args->x = heed_program_array(x, 0);
    args->w = heed_program_array(LAYER, map + offsetof(struct map, w));
    args->bias = heed_program_array(LAYER, map + offsetof(struct map, bias));
    args->add = args->y = heed_program_array(y, 0);
    step(p, "linear", desc, args);
}

static void rope(struct program *p, int i, uint32_t array)
{
    heed_rope_args *args = &p->rope_args[i];

    *args = (heed_rope_args){ .size = sizeof *args };
    args->x = args->y = heed_program_array(array, 0);
    args->cos = heed_program_array(COS, 0);
    args->sin = heed_program_array(SIN, 0);
    step(p, "rope", &p->rope, args);
}

static void norm(struct program *p, int i)
{
    const size_t at = offsetof(struct layer, norm) + (size_t)i * 2 * DIM * sizeof(float);
    heed_norm_args *args = &p->norm_args[i];

    *args = (heed_norm_args){ .size = sizeof *args };
    args->x = args->y = heed_program_array(X, 0);
    args->weight = heed_program_array(LAYER, at);
    args->bias = heed_program_array(LAYER, at + DIM * sizeof(float));
    step(p, "norm", &p->norm, args);
}

/* Each row sees 32 neighbours to each side and the first token, which sees all. */
static void attend(struct program *p)
{
    const heed_longformer_desc desc = { .size = sizeof desc, .q = heads(), .o = heads(),
                                        .text = { .k = heads(), .v = heads() }, .window = 32,
                                        .n_globals = 1 };
    heed_attn_args *args = &p->attend_args;

    p->attend.size = sizeof p->attend;
    must(heed_longformer(&desc, &p->attend, &why));
    p->pairs[0].k = heed_program_array(K, 0);
    p->pairs[0].v = heed_program_array(V, 0);
    *args = (heed_attn_args){ .size = sizeof *args, .kv_size = sizeof p->pairs[0],
                              .kv = p->pairs, .slots = p->slots,
                              .n_slots = HEED_MECHANISM_SLOTS };
    args->q = heed_program_array(Q, 0);
    args->o = heed_program_array(O, 0);
    step(p, "attn", &p->attend.desc, args);
}

static heed_plan *layer_plan(heed_device *device)
{
    static struct program p;
    const int64_t tables[2] = { TOKENS, D / 2 }, dim = DIM;
    const heed_tensor table = heed_array_dense(HEED_F32, NULL, 2, tables).t;
    const heed_tensor vector = heed_array_dense(HEED_F32, NULL, 1, &dim).t;
    heed_program_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                               .n_args = ARGS, .n_temps = ARRAYS - ARGS, .steps = p.steps,
                               .step_size = sizeof p.steps[0] };
    heed_plan *plan;

    memset(&p, 0, sizeof p);
    p.rope = (heed_rope_desc){ .size = sizeof p.rope, .x = heads(), .y = heads(), .cos = table,
                               .sin = table };
    p.norm = (heed_norm_desc){ .size = sizeof p.norm, .kind = HEED_NORM_LAYER, .eps = 1e-5,
                               .x = rows_of(DIM), .y = rows_of(DIM), .weight = vector,
                               .bias = vector };
    linear(&p, offsetof(struct layer, q), X, DIM, Q, DIM, HEED_ACT_NONE, 0);
    linear(&p, offsetof(struct layer, k), X, DIM, K, DIM, HEED_ACT_NONE, 0);
    linear(&p, offsetof(struct layer, v), X, DIM, V, DIM, HEED_ACT_NONE, 0);
    rope(&p, 0, Q);
    rope(&p, 1, K);
    attend(&p);
    linear(&p, offsetof(struct layer, out), O, DIM, X, DIM, HEED_ACT_NONE, 1);
    norm(&p, 0);
    linear(&p, offsetof(struct layer, up), X, DIM, WIDE, HIDDEN, HEED_ACT_GELU, 0);
    linear(&p, offsetof(struct layer, down), WIDE, HIDDEN, X, DIM, HEED_ACT_NONE, 1);
    norm(&p, 1);
    desc.n_steps = p.n;
    must(heed_program_plan(device, &desc, &plan, &why));
    return plan;
}

/* ---- an encoder ---- */

static heed_buf at(const void *data)
{
    return (heed_buf){ .handle = (void *)(uintptr_t)data };
}

static void embed(heed_queue *queue)
{
    const int64_t words[2] = { WORDS, DIM }, ids = TOKENS;
    const heed_embed_desc desc = { .size = sizeof desc, .flags = HEED_PLAN_OWN_WORKSPACE,
                                   .scale = sqrt(DIM),
                                   .table = heed_array_dense(HEED_F32, NULL, 2, words).t,
                                   .ids = heed_array_dense(HEED_I32, NULL, 1, &ids).t,
                                   .y = rows_of(DIM) };
    const heed_embed_args args = { .size = sizeof args, .table = at(model.words),
                                   .ids = at(text.ids), .y = at(text.x) };
    heed_plan *plan;

    must(heed_embed_plan(heed_queue_device(queue), &desc, &plan, &why));
    must(heed_embed_run(plan, queue, &args, NULL, &why));
    heed_plan_drop(plan);
}

static void encode(heed_device *device)
{
    heed_plan *layer = layer_plan(device);
    heed_queue *queue;

    must(heed_queue_create(device, 0, &queue, &why));
    embed(queue);
    for (int l = 0; l < LAYERS; l++) {
        const heed_buf arrays[ARGS] = { [X] = at(text.x), [LAYER] = at(&model.layer[l]),
                                        [COS] = at(model.cos), [SIN] = at(model.sin) };

        must(heed_plan_run(layer, queue, arrays, ARGS, NULL, NULL, &why));
    }
    must(heed_queue_wait(queue, &why));
    heed_plan_drop(layer);
    heed_queue_destroy(queue);
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
