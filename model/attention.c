/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attention.h"

#include "say.h"
#include "tokenizer.h"

#include <heed/programs.h>
#include <stdlib.h>
#include <string.h>

static const struct sparsity {
    const char *name;
    uint32_t sparsity;
} sparsities[] = {
    { "none", HEED_LSG_NONE },
    { "", HEED_LSG_NONE },
    { "stride", HEED_LSG_STRIDE },
    { "block_stride", HEED_LSG_BLOCK_STRIDE },
    { "norm", HEED_LSG_NORM },
    { "pooling", HEED_LSG_POOLING },
    { "bos_pooling", HEED_LSG_BOS_POOLING },
};

static bool sparsity_named(const char *name, uint32_t *to)
{
    for (size_t i = 0; i < sizeof sparsities / sizeof *sparsities; i++)
        if (strcmp(sparsities[i].name, name) == 0) {
            *to = sparsities[i].sparsity;
            return true;
        }
    return false;
}

/* ---- of the checkpoint ---- */

/* LSG's models say BART or BERT, and have one word more (Condevaux and Harispe 2022). */
static heed_status own_lsg(const struct parameters *p, struct attention *a, heed_report *report)
{
    const struct param *const table = &p->encoder.of[ROLE_GLOBALS].weight;
    const struct config *const c = &p->config;
    const bool off = c->sparse_block == 0 || c->factor == 0;

    if (!table->t.ndim || p->family->mechanism != SEES_ALL)
        return say(report, HEED_E_UNSUPPORTED, "base_model_prefix", 0, 0, "LSG of a %s",
                   p->family->name);
    if (!sparsity_named(off ? "none" : c->sparsity, &a->sparsity))
        return say(report, HEED_E_UNSUPPORTED, "sparsity_type", 0, 0,
                   "sparse keys by %s: a hash by random numbers is no part of a checkpoint",
                   c->sparsity);
    if (c->mask_first)
        return say(report, HEED_E_UNSUPPORTED, "mask_first_token", 0, 1, "not known here");
    a->mechanism = SEES_LSG;
    a->block = c->block > 0 ? c->block : 128;
    a->sparse_block = off ? 0 : c->sparse_block > 0 ? c->sparse_block : 128;
    a->factor = off ? 1 : c->factor;
    a->rows = c->globals < 1 ? 1 : c->globals > OWN_ROWS ? OWN_ROWS : c->globals;
    a->shown = c->pass_global && p->family->decoder;
    a->pooled = !a->shown && c->pool_with_global;
    return HEED_OK;
}

heed_status attention_own(const struct parameters *p, struct attention *out, heed_report *report)
{
    const struct config *const c = &p->config;
    const struct param *const table = &p->encoder.of[ROLE_GLOBALS].weight;
    struct attention a = { .mechanism = p->family->mechanism, .globals = 1, .block = c->block,
                           .random = c->random_blocks };
    heed_status status = HEED_OK;

    if (a.mechanism == SEES_PEGASUS_X)
        a.rows = table->t.shape[0];
    if (a.mechanism == SEES_BIGBIRD && strcmp(c->attention, "original_full") == 0)
        a.mechanism = SEES_ALL;
    if (c->lsg)
        status = own_lsg(p, &a, report);
    if (status >= 0)
        *out = a;
    return status;
}

/* ---- of a caller ---- */

/* The word up to the next colon, or the end. */
static bool word(const char **at, char *to, size_t room)
{
    const size_t n = strcspn(*at, ":");

    if (n == 0 || n >= room)
        return false;
    memcpy(to, *at, n);
    to[n] = 0;
    *at += n;
    return true;
}

/* A number behind a colon; where there is none `to` stays. */
static bool number(const char **at, int64_t low, int64_t high, int64_t *to)
{
    char *end;
    long long got;

    if (**at == 0)
        return true;
    if (**at != ':' || (*at)[1] < '0' || (*at)[1] > '9')
        return false;
    got = strtoll(*at + 1, &end, 10);
    *at = end;
    *to = got;
    return got >= low && got <= high && (*end == 0 || *end == ':');
}

static bool longformer(const char **at, struct attention *a)
{
    int64_t window = 512;

    a->mechanism = SEES_LONGFORMER;
    if (!number(at, 2, 1 << 24, &window) || !number(at, 0, 1 << 20, &a->globals))
        return false;
    a->window = window / 2;
    return true;
}

static bool block(const char **at, struct attention *a)
{
    a->mechanism = SEES_PEGASUS_X;
    a->block = 512;
    return number(at, 2, 1 << 24, &a->block) && a->block % 2 == 0;
}

/* No random blocks: which ones they are is no part of a checkpoint. */
static bool bigbird(const char **at, struct attention *a)
{
    a->mechanism = SEES_BIGBIRD;
    a->block = 64;
    return number(at, 1, 1 << 24, &a->block);
}

static bool lsg(const char **at, struct attention *a)
{
    char name[32] = "norm";

    a->mechanism = SEES_LSG;
    a->block = 128;
    a->factor = 2;
    a->rows = 1;
    a->made = true;
    if (**at == ':') {
        ++*at;
        if (!word(at, name, sizeof name))
            return false;
    }
    if (!sparsity_named(name, &a->sparsity) || !number(at, 1, 1 << 24, &a->block))
        return false;
    a->sparse_block = a->block;
    if (!number(at, 1, 1 << 24, &a->sparse_block) || !number(at, 1, 1 << 24, &a->factor) ||
        !number(at, 1, OWN_ROWS, &a->rows))
        return false;
    return a->block % a->factor == 0;
}

static bool full(const char **at, struct attention *a)
{
    (void)at;
    a->mechanism = SEES_ALL;
    return true;
}

static const struct form {
    const char *name, *form;
    bool (*parse)(const char **at, struct attention *a);
} forms[] = {
    { "full", "full", full },
    { "block", "block:TOKENS, an even number", block },
    { "longformer", "longformer:WINDOW:GLOBALS, a window of 2 to 2^24 tokens", longformer },
    { "bigbird", "bigbird:BLOCK, a block of 1 to 2^24 tokens", bigbird },
    { "lsg", "lsg:TYPE:BLOCK:SPARSE_BLOCK:FACTOR:ROWS, none, norm, pooling, bos_pooling, stride or "
             "block_stride", lsg },
};

/* The first of these tokens that there is. */
static int32_t token(const struct parameters *p, const struct tokenizer *tokenizer,
                     const char *const names[2])
{
    for (int i = 0; i < 2 && tokenizer; i++) {
        const int32_t id = tokenizer_id(tokenizer, names[i]);

        if (id >= 0 && id < p->config.vocab)
            return id;
    }
    return (int32_t)(p->config.bos < p->config.vocab ? p->config.bos : CONFIG_ABSENT);
}

heed_status attention_parse(const struct parameters *p, const struct tokenizer *tokenizer,
                            const char *text, struct attention *out, heed_report *report)
{
    static const char *const firsts[] = { "<s>", "[CLS]" }, *const masks[] = { "<mask>", "[MASK]" };
    struct attention a = { .globals = 1, .repeated = true };
    const struct form *form = NULL;
    const char *at = text;
    char name[16];

    if (word(&at, name, sizeof name))
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            if (strcmp(forms[i].name, name) == 0)
                form = &forms[i];
    if (!form)
        return say(report, HEED_E_UNSUPPORTED, "attention", 0, 0,
                   "no attention %s; there are: full, block, longformer, bigbird, lsg", text);
    if (!form->parse(&at, &a) || *at)
        return say(report, HEED_E_VALUE, "attention", 0, 0, "%s: wanted %s", text, form->form);
    if (p->family->traits & TRAIT_RELATIVE || p->config.relative_attention)
        return say(report, HEED_E_UNSUPPORTED, "attention", 0, 0,
                   "the relative positions of a %s are part of its attention", p->family->name);
    a.first = token(p, tokenizer, firsts);
    a.mask = token(p, tokenizer, masks);
    a.shown = a.made && p->family->decoder;
    a.pooled = a.made && !a.shown;
    if (a.made && (a.first < 0 || a.mask < 0))
        return say(report, HEED_E_VALUE, "bos_token_id", 0, -1, "no token begins texts");
    *out = a;
    return HEED_OK;
}
