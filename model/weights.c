/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "weights.h"

#include "chance.h"
#include "loading.h"
#include "say.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacks ---- */

/* Parts that config.json takes from a family. */
static bool absent_part(const struct config *c, int role, bool gated)
{
    const bool places = c->relative_attention && !c->share_keys;

    return (role == ROLE_GATE && !gated) ||
           (role == ROLE_PLACES_K && !(places && strstr(c->relative, "c2p"))) ||
           (role == ROLE_PLACES_Q && !(places && strstr(c->relative, "p2c")));
}

static heed_status take_layer(struct loading *l, struct stack *stack, int64_t which)
{
    const uint32_t traits = l->p->family->traits;
    char layer[CHECKPOINT_NAME], name[CHECKPOINT_NAME];
    heed_status status = HEED_OK;

    layer_name(layer, stack->names->layer, which);
    l->dtype = l->options->dtype;
    for (int role = 0; role < LAYER_ROLES && status >= 0; role++) {
        const bool plain = layer_roles[role].attends && (traits & TRAIT_PLAIN_MAPS);
        const bool biased = (traits & TRAIT_BIASES) && !plain;
        const char *part = stack->names->parts[role];
        const char *more = "";

        if (!part || absent_part(&l->p->config, role, l->p->gated))
            continue;
        if (role == ROLE_UP && l->p->gated)
            more = "_0";                /* T5: wi, or wi_0 and wi_1 */
        NAME_OF(name, stack->names->prefix, layer, part, more);
        status = take_pair(l, stack, &layer_roles[role], name, true, biased,
                           &stack->layers[which].of[role]);
    }
    l->dtype = 0;
    return status;
}

/* Layers share a plan: a tensor of each role has one type in all of them. */
static heed_status alike(struct loading *l, const struct stack *stack)
{
    for (int64_t i = 1; i < stack->n_layers; i++)
        for (int role = 0; role < LAYER_ROLES; role++) {
            const struct pair *const a = &stack->layers[0].of[role];
            const struct pair *const b = &stack->layers[i].of[role];

            if (a->weight.t.dtype != b->weight.t.dtype || a->bias.t.dtype != b->bias.t.dtype)
                return say(l->report, HEED_E_DTYPE, stack->names->parts[role], a->weight.t.dtype,
                           b->weight.t.dtype, "%s has another type in layer %lld than in layer 0",
                           stack->names->parts[role], (long long)i);
        }
    return HEED_OK;
}

/* Tied tokens are saved once, under one of these names. */
static heed_status take_tokens(struct loading *l, struct stack *stack)
{
    const int64_t shape[2] = { l->p->config.vocab, l->p->config.model };
    char own[CHECKPOINT_NAME];
    const char *const names[] = { own, "shared.weight" };
    struct param *const to = &stack->of[ROLE_TOKENS].weight;

    NAME_OF(own, stack->names->prefix, stack->names->whole[ROLE_TOKENS], ".weight");
    /* Rows of blocks are none that an embedding reads. */
    l->dtype = heed_dtype_block(l->options->dtype) == 1 ? l->options->dtype : 0;
    for (int i = 0; i < 2; i++) {
        const bool last = i == 1;
        heed_status status;

        if (stack == &l->p->decoder && last && l->p->encoder.of[ROLE_TOKENS].weight.t.ndim) {
            *to = l->p->encoder.of[ROLE_TOKENS].weight;
            return HEED_OK;
        }
        status = take(l, names[i], 2, shape, last, to);
        if (status < 0 || to->t.ndim)
            return status;
    }
    return HEED_OK;
}

/* Sines, then cosines, of position / 10000^(2 i / model) (Vaswani et al. 2017, section 3.5): rows
 * from `first` on, by pieces. */
static heed_status sinusoid_rows(struct loading *l, const struct param *to, int64_t first,
                                 int64_t rows, float *room)
{
    const int64_t d = l->p->config.model;
    float *const halves = room + rows * d;
    heed_rope_scaling scaling = { .size = sizeof scaling };
    const heed_buf at = { to->buf.handle, to->buf.offset + (uint64_t)(first * d) * sizeof *room };
    heed_status status;

    if ((l->p->family->traits & TRAIT_SLOWEST) && d > 2)
        scaling.base = power(10000, (double)(d / 2) / (double)(d / 2 - 1));
    status = heed_rope_tables(&scaling, first, rows, d / 2, halves, halves + rows * d / 2);
    if (status < 0)
        return say(l->report, status, "max_position_embeddings", 0, first + rows,
                   "no table of positions");
    for (int64_t i = 0; i < rows; i++) {
        memcpy(room + i * d, halves + (rows + i) * d / 2, (size_t)d / 2 * sizeof *room);
        memcpy(room + i * d + d / 2, halves + i * d / 2, (size_t)d / 2 * sizeof *room);
    }
    return heed_buf_write(l->queue, at, room, (uint64_t)(rows * d) * sizeof *room, l->report);
}

/* Positions that the files do not have. The number of rows is a word of config.json alone: both
 * stacks' tables take 8 MiB, or a fifth of the files, not more. */
static heed_status sinusoids(struct loading *l, struct stack *stack)
{
    enum { PIECE = 256, FREE = 8 << 20 };
    const int64_t rows = stack == &l->p->decoder ? l->p->config.decoder_positions
                                                 : l->p->config.positions;
    const int64_t d = l->p->config.model, shape[2] = { rows, d };
    const int64_t most = (int64_t)((FREE + l->all / 5) / 2) / (4 * d);
    struct param *const to = &stack->of[ROLE_POSITIONS].weight;
    heed_status status;
    float *room;

    if (to->t.ndim)
        return HEED_OK;
    if (rows < 1 || d % 2 != 0 || rows > most)
        return say(l->report, HEED_E_VALUE, "max_position_embeddings", most, rows,
                   "positions that are computed want their number, for these files 1 to %lld, and "
                   "an even d_model", (long long)most);
    room = malloc((size_t)(2 * PIECE * d) * sizeof *room);
    if (!room)
        return say_no_memory(l->report, 2 * PIECE * d * (int64_t)sizeof *room);
    to->t = heed_array_dense(HEED_F32, NULL, 2, shape).t;
    status = weights_keep(l->p, bytes_of(&to->t), &to->buf, l->report);
    for (int64_t i = 0; i < rows && status >= 0; i += PIECE)
        status = sinusoid_rows(l, to, i, rows - i < PIECE ? rows - i : PIECE, room);
    free(room);
    return status;
}

static heed_status take_whole(struct loading *l, struct stack *stack)
{
    const bool biases = l->p->family->traits & TRAIT_BIASES;
    const bool computed = l->p->family->traits & TRAIT_SINUSOIDS;
    const struct config *const c = &l->p->config;
    const bool absent[STACK_ROLES] = {
        [ROLE_POSITIONS] = !c->position_input,
        [ROLE_TYPES] = c->types == 0,
        [ROLE_GLOBALS] = !c->lsg && l->p->family->mechanism != SEES_PEGASUS_X,
        [ROLE_PLACES] = !c->relative_attention,
        [ROLE_PLACES_NORM] = !c->relative_attention || !strstr(c->places_norm, "layer_norm"),
    };
    heed_status status = take_tokens(l, stack);
    char name[CHECKPOINT_NAME];

    l->dtype = 0;
    for (int role = ROLE_TOKENS + 1; role < STACK_ROLES && status >= 0; role++) {
        const char *const part = stack->names->whole[role];
        const bool norm = role == ROLE_FIRST_NORM || role == ROLE_FINAL_NORM ||
                          role == ROLE_PLACES_NORM;

        if (!part || absent[role])
            continue;
        NAME_OF(name, stack->names->prefix, part);
        status = take_pair(l, stack, &stack_roles[role], name,
                           !(role == ROLE_POSITIONS && computed), norm && biases,
                           &stack->of[role]);
    }
    return status >= 0 && computed ? sinusoids(l, stack) : status;
}

static heed_status take_stack(struct loading *l, struct stack *stack)
{
    heed_status status;

    stack->layers = calloc((size_t)stack->n_layers + 1, sizeof *stack->layers);
    if (!stack->layers)
        return say_no_memory(l->report,
                             (int64_t)sizeof *stack->layers * (stack->n_layers + 1));
    status = take_whole(l, stack);
    for (int64_t i = 0; i < stack->n_layers && status >= 0; i++)
        status = take_layer(l, stack, i);
    return status < 0 ? status : alike(l, stack);
}

/* ---- the model ---- */

/* A window for each layer, or one for all; where config.json has none, 512, as transformers has. */
static heed_status windows(struct config *c, heed_report *report)
{
    if (c->n_windows == CONFIG_ABSENT) {
        c->n_windows = 1;
        c->window[0] = 512;
    }
    if (c->n_windows != 1 && c->n_windows != c->layers)
        return say(report, HEED_E_VALUE, "attention_window", c->layers, c->n_windows,
                   "%lld windows of %lld layers", (long long)c->n_windows, (long long)c->layers);
    return HEED_OK;
}

/* DeBERTa's distances go as far as it says, or as there are positions. */
static heed_status places(struct config *c, heed_report *report)
{
    if (!c->relative_attention && *c->relative)
        return say(report, HEED_E_UNSUPPORTED, "pos_att_type", 0, 0,
                   "pos_att_type without relative_attention");
    if (c->relative_positions < 1)
        c->relative_positions = c->positions;
    if (c->relative_attention && (c->relative_positions < 1 || c->relative_positions > 1 << 16))
        return say(report, HEED_E_VALUE, "max_position_embeddings", 1 << 16,
                   c->relative_positions, "distances of 1 to 2^16 are wanted");
    return HEED_OK;
}

/* Buckets for both sides, exact ones in the first half of each. */
static heed_status distances(const struct parameters *p, heed_report *report)
{
    const struct config *const c = &p->config;

    if (!(p->family->traits & TRAIT_RELATIVE))
        return HEED_OK;
    if (c->buckets % 2 != 0)
        return say(report, HEED_E_VALUE, "relative_attention_num_buckets", c->buckets + 1,
                   c->buckets, "an odd number of buckets");
    if (c->max_distance <= c->buckets / 2)
        return say(report, HEED_E_VALUE, "relative_attention_max_distance", c->buckets / 2 + 1,
                   c->max_distance, "%lld, where half of the buckets, %lld, are exact",
                   (long long)c->max_distance, (long long)(c->buckets / 2));
    return HEED_OK;
}

/* The word of config.json for what the rows of an encoder see; its absence is the first one. */
static heed_status attention_word(struct config *c, const char *field, const char *first,
                                  const char *second, heed_report *report)
{
    if (*c->attention == 0)
        strcpy(c->attention, first);
    if (strcmp(c->attention, first) == 0 || strcmp(c->attention, second) == 0)
        return HEED_OK;
    return say(report, HEED_E_UNSUPPORTED, field, 0, 0, "%s is neither %s nor %s", c->attention,
               first, second);
}

/* What config.json says against itself, or leaves out that every family has. */
static heed_status consistent(struct parameters *p, heed_report *report)
{
    struct config *const c = &p->config;
    const struct {
        const char *name;
        int64_t value;
    } wanted[] = { { "vocab_size", c->vocab }, { "d_model", c->model }, { "num_heads", c->heads },
                   { "d_ff", c->hidden } };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i].value < 1)
            return say(report, HEED_E_VALUE, wanted[i].name, 1, wanted[i].value,
                       "config.json has no %s", wanted[i].name);
    if (c->decoder_layers == CONFIG_ABSENT)
        c->decoder_layers = c->layers;
    if (c->decoder_heads == CONFIG_ABSENT)
        c->decoder_heads = c->heads;
    if (c->decoder_hidden == CONFIG_ABSENT)
        c->decoder_hidden = c->hidden;
    if (c->decoder_positions == CONFIG_ABSENT)
        c->decoder_positions = c->positions;
    if (c->eps < 0)
        c->eps = p->family->eps;
    if (c->head_dim == CONFIG_ABSENT && (c->model % c->heads || c->model % c->decoder_heads))
        return say(report, HEED_E_VALUE, "num_heads", c->model, c->heads,
                   "the heads do not divide the %lld channels", (long long)c->model);
    if (!family_act(c->act, &p->act, &p->gated))
        return say(report, HEED_E_UNSUPPORTED, "activation_function", 0, 0,
                   "the activation %s is not known", c->act);
    if (c->convolution > 0)
        return say(report, HEED_E_UNSUPPORTED, "conv_kernel_size", 0, c->convolution,
                   "a convolution behind the first layer");
    if (p->family->mechanism == SEES_BIGBIRD && c->block == CONFIG_ABSENT)
        return say(report, HEED_E_VALUE, "block_size", 1, 0, "config.json has no block_size");
    if (p->family->mechanism == SEES_BIGBIRD &&
        attention_word(c, "attention_type", "block_sparse", "original_full", report) < 0)
        return HEED_E_UNSUPPORTED;
    if (p->family->mechanism == SEES_LONGT5 &&
        attention_word(c, "encoder_attention_type", "local", "transient-global", report) < 0)
        return HEED_E_UNSUPPORTED;
    if (p->gated && !(p->family->traits & TRAIT_RELATIVE))
        return say(report, HEED_E_UNSUPPORTED, "activation_function", 0, 0,
                   "a gated activation of a %s", c->family);
    if (windows(c, report) < 0)
        return HEED_E_VALUE;
    if (p->family->mechanism == SEES_DEBERTA)
        return places(c, report);
    return distances(p, report);
}

static const struct stack_names *encoder_names(const struct parameters *p)
{
    const bool sums = p->family->mechanism == SEES_LONGT5 &&
                      strcmp(p->config.attention, "transient-global") == 0;

    return sums ? family_global(p->family) : p->family->encoder;
}

static void extents(struct parameters *p)
{
    const struct config *const c = &p->config;

    p->encoder = (struct stack){
        .names = encoder_names(p), .n_layers = c->layers, .heads = c->heads, .hidden = c->hidden,
        .head_dim = c->head_dim == CONFIG_ABSENT ? c->model / c->heads : c->head_dim,
    };
    p->decoder = (struct stack){
        .names = p->family->decoder, .n_layers = p->family->decoder ? c->decoder_layers : 0,
        .heads = c->decoder_heads, .hidden = c->decoder_hidden,
        .head_dim = c->head_dim == CONFIG_ABSENT ? c->model / c->decoder_heads : c->head_dim,
    };
}

/* The root that the files have: of the first layer's queries, which every family has. */
static heed_status root(struct loading *l)
{
    const struct stack_names *const names = l->p->encoder.names;
    char layer[CHECKPOINT_NAME], name[CHECKPOINT_NAME];

    layer_name(layer, names->layer, 0);
    for (int i = 0; i < 4 && l->p->family->roots[i]; i++) {
        l->root = l->p->family->roots[i];
        NAME_OF(name, l->root, names->prefix, layer, names->parts[ROLE_Q], ".weight");
        if (checkpoint_find(&l->files, name))
            return HEED_OK;
    }
    return say(l->report, HEED_E_VALUE, "tensors", 1, 0, "the files have no tensor %s", name);
}

static heed_status take_head(struct loading *l)
{
    const int64_t shape[2] = { l->p->config.vocab, l->p->config.model };
    const int64_t bias[2] = { 1, l->p->config.vocab };
    const char *const root = l->root;
    char name[CHECKPOINT_NAME];
    heed_status status = HEED_OK;

    l->root = "";                       /* what stands behind the decoder is outside of its root */
    NAME_OF(name, l->p->family->head, ".weight");
    l->dtype = l->options->dtype;
    if (!l->p->config.tied)
        status = take(l, name, 2, shape, true, &l->p->head.weight);
    l->p->tied = l->p->config.tied;
    if (l->p->tied)
        l->p->head.weight = l->p->decoder.of[ROLE_TOKENS].weight;
    l->dtype = 0;
    if (status >= 0 && l->p->family->logits_bias)
        status = take(l, l->p->family->logits_bias, 2, bias, false, &l->p->head.bias);
    if (l->p->head.bias.t.ndim) {       /* [1][vocab] */
        l->p->head.bias.t.ndim = 1;
        l->p->head.bias.t.shape[0] = l->p->config.vocab;
        l->p->head.bias.t.stride[0] = 1;
    }
    l->root = root;
    return status;
}

static heed_status take_all(struct loading *l)
{
    heed_status status = root(l);

    for (size_t i = 0; i < l->files.n; i++)
        l->all += (uint64_t)l->files.weights[i].bytes;
    if (status >= 0)
        status = take_stack(l, &l->p->encoder);
    if (status >= 0 && l->p->decoder.names)
        status = take_stack(l, &l->p->decoder);
    if (status >= 0 && l->p->family->head)
        status = take_head(l);
    return status;
}

heed_status weights_load(heed_queue *queue, const char *folder,
                         const struct weights_options *options, struct parameters *out,
                         heed_report *report)
{
    struct parameters p = { .device = heed_queue_device(queue) };
    struct loading l = { .p = &p, .queue = queue, .options = options, .report = report };
    heed_device_props props = { .size = sizeof props };
    char known[160];
    heed_status status = config_read(folder, &p.config, report);

    if (status < 0)
        return status;
    p.family = family_find(p.config.family);
    family_list(known, sizeof known);
    if (!p.family)
        return say(report, HEED_E_UNSUPPORTED, "model_type", 0, 0, "no family %s; there are: %s",
                   p.config.family, known);
    status = heed_device_info(p.device, &props);
    if (status < 0)
        return status;
    p.host = props.kind == HEED_DEVICE_REFERENCE || props.kind == HEED_DEVICE_CPU;
    status = consistent(&p, report);
    if (status < 0)
        return status;
    extents(&p);
    status = checkpoint_open(folder, &l.files, report);
    if (status < 0)
        return status;
    status = take_all(&l);
    checkpoint_close(&l.files);
    free(l.stage);
    if (status < 0)
        weights_free(&p);
    else
        *out = p;
    return status;
}

int64_t weights_positions(const struct parameters *p, const struct stack *stack)
{
    const struct param *const table = &stack->of[ROLE_POSITIONS].weight;

    if (table->t.ndim)
        return table->t.shape[0] - p->family->first_position;
    return stack == &p->decoder ? DECODED_MOST : TOKENS_MOST;
}

void weights_free(struct parameters *p)
{
    for (size_t i = 0; i < p->n_owned; i++)
        heed_buf_destroy(p->device, p->owned[i]);
    free(p->owned);
    free(p->encoder.layers);
    free(p->decoder.layers);
    *p = (struct parameters){ .n_owned = 0 };
}
