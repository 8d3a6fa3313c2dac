/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases that a plug-in accepts. Most kernels do one thing, which few of all cases are: a child asks
 * the plug-in's query about plain cases of every type and width, then about each level of each
 * field on top of one that it accepts, and cases are drawn from these.
 */
#include "cover.h"
#include "plugin.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct probe {
    struct session *session;
    bool bases; /* looks for bases, else asks for levels */
};

/* Is the case legal, and does the plug-in accept it? */
static bool accepts(const struct plugin *plugin, const heed_kernel_api *api, heed_device *reference,
                    const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, false);
    struct call *call = calloc(1, sizeof *call);
    bool good = p && call && cf_call_describe(call, p, 0);

    if (good) {
        call->desc.numerics = HEED_NUMERICS_EXACT;
        good = heed_attn_check(reference, &call->desc, NULL) >= 0;
        call->desc.numerics = api->numerics;
    }
    good = good && plugin_ask(plugin, api, &call->desc) == HEED_OK;
    if (call)
        cf_call_finish(call);
    free(call);
    cf_problem_free(p);
    return good;
}

/* Plain cases: one element type or f32 outputs, one width, one head or groups of two, causal or
 * not. */
enum { BASES_A_WIDTH = 3 * 2 * 2 * 2 };

static bool base_make(int number, struct cs *c)
{
    const int64_t type = number % 3, out = number / 3 % 2, causal = number / 6 % 2,
                  groups = number / 12 % 2;
    int64_t *const source = &c->v[cf_at_source(0)];

    cf_op->smallest(c);
    c->v[G_Q] = source[S_K] = source[S_V] = type;
    c->v[G_O] = out ? DT_F32 : type;
    c->v[G_H] = groups ? 4 : 1;
    source[S_HK] = groups ? 2 : 0; /* as the words have it: half, h */
    source[S_CAUSAL] = causal;
    c->v[G_ALIGN] = causal ? ALIGN_END : ALIGN_START;
    c->v[G_D] = c->v[G_DV] = cf_fields[G_D].level[number / BASES_A_WIDTH];
    cf_case_normalize(c);
    return !(out && type == DT_F32);
}

static int bases_count(void)
{
    return BASES_A_WIDTH * cf_fields[G_D].n_levels;
}

static void bases_find(const struct plugin *plugin, const heed_kernel_api *api,
                       heed_device *reference)
{
    struct control *control = plugin->control;

    for (int i = control->asking; i < bases_count(); i++) {
        struct cs c;

        control->asking = i + 1;
        if (control->n_bases < MAX_BASES && base_make(i, &c) && accepts(plugin, api, reference, &c))
            control->base[control->n_bases++] = c;
    }
}

/* On top of so many of the bases each level is tried. */
enum { BASES_ASKED = 4 };

static void levels_find(const struct plugin *plugin, const heed_kernel_api *api,
                        heed_device *reference)
{
    struct control *control = plugin->control;
    struct cover cover = { .reference = reference, .r = rng_of(1) };
    int *owner = calloc((size_t)cf_n_levels, sizeof *owner);

    for (int f = 0; owner && f < cf_n_fields; f++) {
        for (int l = 0; l < cf_fields[f].n_levels; l++)
            owner[cf_fields[f].first + l] = f;
    }
    cover.owner = owner;
    for (int level = control->asking; owner && level < cf_n_levels; level++) {
        control->asking = level + 1;
        for (int i = 0; i < BASES_ASKED && !control->accepted[level]; i++) {
            struct cs c = control->base[i * control->n_bases / BASES_ASKED];
            heed_status status = 0;
            bool possible;

            control->accepted[level] =
                cf_draw_repair(&cover, &c, &level, 1, cf_limit_small, &status, &possible) &&
                accepts(plugin, api, reference, &c);
        }
    }
    free(owner);
}

static void probe_work(const struct plugin *plugin, const heed_kernel_api *api, void *arg)
{
    const struct probe *probe = arg;

    if (probe->bases)
        bases_find(plugin, api, probe->session->reference.device);
    else
        levels_find(plugin, api, probe->session->reference.device);
    plugin->control->stage = STAGE_END;
}

/* Where query ends a child, another goes on behind that question. */
static void ask_all(struct session *session, struct plugin *plugin, bool bases, int n)
{
    struct probe probe = { session, bases };

    plugin->control->asking = 0;
    while (plugin->control->asking < n) {
        const struct outcome outcome = plugin_fork(plugin, probe_work, &probe);
        struct verdict v = { 0 };

        plugin_judge_end(plugin, NULL, &outcome, &v);
        if (v.failed)
            cf_tap(&session->tally, false, NULL, "plug-in", "query", "", v.why);
        if (v.failed && (++plugin->hangs >= 3 || plugin->control->stage < STAGE_QUERY))
            break;
    }
}

/* A child that asks about much has more time than one case. */
enum { TIMES_AS_LONG = 10 };

void plugin_probe(struct session *session, struct plugin *plugin)
{
    const struct control *control = plugin->control;
    int accepted = 0;

    assert(cf_n_levels <= MAX_ASKED && bases_count() <= MAX_BASES);
    plugin->seconds *= TIMES_AS_LONG;
    ask_all(session, plugin, true, bases_count());
    if (control->n_bases > 0)
        ask_all(session, plugin, false, cf_n_levels);
    plugin->seconds /= TIMES_AS_LONG;
    for (int i = 0; i < cf_n_levels; i++)
        accepted += control->accepted[i];
    printf("# accepts %d of %d plain cases, %d of %d values of fields\n", control->n_bases,
           bases_count(), accepted, cf_n_levels);
}

/* ---- drawing ------------------------------------------------------------------- */

/* Bases and contents in turn, all else at random. */
static void draw_one(const struct control *control, struct rng *r, int64_t number, int64_t dense,
                     struct cs *c)
{
    const struct field *fill = &cf_fields[G_FILL];
    const int64_t filled = number % fill->n_levels;

    *c = control->base[(number + number / fill->n_levels) % control->n_bases];
    c->seed = rng_next(r) >> 24;
    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];
        const int64_t level = rng_below(r, f->n_levels);

        if (rng_below(r, 100) < dense && control->accepted[f->first + level])
            c->v[i] = f->level[level];
    }
    if (control->accepted[fill->first + filled])
        c->v[G_FILL] = fill->level[filled];
    cf_case_normalize(c);
}

static bool legal(struct session *session, const struct cs *c)
{
    return cf_op->work(c) <= cf_limit_small &&
           cf_op->check(session->reference.device, c, NULL) >= 0;
}

void plugin_draw(struct session *session, const struct plugin *plugin, struct rng *r,
                 int64_t number, struct cs *c)
{
    if (plugin->control->n_bases == 0) {
        cf_case_draw(r, session->reference.device, 20, cf_limit_small, c);
        return;
    }
    for (int i = 0; i < 64; i++) {
        struct cs varied;

        draw_one(plugin->control, r, number, i < 48 ? 10 + 10 * rng_below(r, 8) : 0, c);
        varied = *c;
        cf_op->vary(r, &varied);
        if (legal(session, &varied)) {
            *c = varied;
            return;
        }
        if (legal(session, c))
            return;
    }
}
