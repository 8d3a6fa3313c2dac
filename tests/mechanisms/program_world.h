/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program against a dense oracle in double, as world.h has it for builders, on every device there
 * is: those of the host, whose memory is the test's, and others, where arrays are copied.
 * Sets 0 and 1 are the text and the globals; set 2, if there is one, are the keys that the program
 * computes, which `derive` computes from the paper's text. program_prove() then asks:
 *
 * - check and plan agree, and the workspace is what heed_plan_info says;
 * - random data: within the bound that the data give;
 * - the bits of the reference on every device;
 * - NaN in all that is masked or beyond a length: no bit changes;
 * - one-hot V: the weight of every token, zero exactly where the paper has no path to it.
 */
#ifndef HEED_TESTS_MECHANISMS_PROGRAM_WORLD_H
#define HEED_TESTS_MECHANISMS_PROGRAM_WORLD_H

#include "world.h"

#include <heed/programs.h>

enum { SPARSE = 2, MOST_BROUGHT = 18 };

/* ---- devices ---- */

/* Devices that are not the host's, by names: there are some only where the environment of the test
 * names a vendor. */
static int program_offloads(char names[WORLD_DEVICES][64])
{
    heed_runtime *runtime = NULL;
    int n = 0;

    if (heed_runtime_create(NULL, &runtime, NULL) < 0)
        abort();
    for (uint32_t i = 0; n < WORLD_DEVICES; i++) {
        heed_device *device = heed_device_get(runtime, i);
        heed_device_props props = { .size = sizeof(props) };

        if (device == NULL || heed_device_info(device, &props) < 0)
            break;
        if (props.usable >= 0 &&
            (props.kind == HEED_DEVICE_OPENCL || props.kind == HEED_DEVICE_CUDA))
            snprintf(names[n++], 64, "%s", props.name);
    }
    heed_runtime_destroy(runtime);
    return n;
}

/* HEED_TEST_OFFLOAD in the environment: the devices that are not the host's, else the host's. */
static bool program_offload(void)
{
    return getenv("HEED_TEST_OFFLOAD") != NULL;
}

static inline int program_devices(void)
{
    char names[WORLD_DEVICES][64];

    return program_offload() ? program_offloads(names) : world_devices();
}

static inline void program_open(int device)
{
    char names[WORLD_DEVICES][64];

    if (!program_offload()) {
        world_open(device);
        return;
    }
    ck_assert_int_lt(device, program_offloads(names));
    world_open_name(names[device]);
}

/* ---- memory ---- */

/* Copies of arrays on a device that is not the host's. */
struct brought {
    int n;
    bool host;
    heed_buf buf[MOST_BROUGHT];
};

static heed_buf bring(struct brought *s, const void *bytes, size_t size)
{
    heed_buf *buf = &s->buf[s->n];

    if (s->host || bytes == NULL)
        return (heed_buf){ .handle = (void *)(uintptr_t)bytes };
    ck_assert_int_lt(s->n, MOST_BROUGHT);
    s->n++;
    ck_assert_int_eq(heed_buf_create(world.device, size + 1, buf, &world.why), HEED_OK);
    ck_assert_int_eq(heed_buf_write(world.queue, *buf, bytes, size, &world.why), HEED_OK);
    return *buf;
}

static heed_buf bring_array(struct brought *s, const heed_array *a)
{
    return bring(s, a->buf.handle, (size_t)world_count(a) * world_size(a->t.dtype));
}

static void take_back(struct brought *s)
{
    while (s->n > 0)
        heed_buf_destroy(world.device, s->buf[--s->n]);
}

static bool on_host(void)
{
    heed_device_props props = { .size = sizeof(props) };

    ck_assert_int_eq(heed_device_info(world.device, &props), HEED_OK);
    return props.kind != HEED_DEVICE_OPENCL && props.kind != HEED_DEVICE_CUDA;
}

static heed_keys_bufs bring_keys(struct brought *s, const struct world_of *w, int set)
{
    const struct key_set *keys = &w->set[set];

    return (heed_keys_bufs){
        .k = bring_array(s, &keys->k),
        .v = bring_array(s, &keys->v),
        .len = bring(s, keys->has_len ? keys->len : NULL, (size_t)w->batch * sizeof(int32_t)),
        .mask = bring(s, keys->has_mask ? keys->mask : NULL, (size_t)(w->batch * keys->n)),
    };
}

/* ---- runs ---- */

/* A test's: `plan` calls check and plan of the program with the arrays of the world (the same
 * status), `more` fills in arrays that a world does not have. */
struct program {
    heed_status (*plan)(const struct world_of *, heed_plan **out);
    void (*more)(const struct world_of *, struct brought *, heed_program_args *);
};

static const struct program *program;

static void program_run(struct world_of *w)
{
    struct brought s = { .host = on_host() };
    heed_plan_props props = { .size = sizeof(props) };
    heed_program_args args = { .size = sizeof(args) };
    heed_event *before = NULL;
    heed_plan *plan = NULL;
    void *scratch;

    ck_assert_msg(program->plan(w, &plan) == HEED_OK, "%s: %s: %s: %s", w->name, world_name(),
                  world.why.field, world.why.message);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    ck_assert_int_eq(props.numerics, HEED_NUMERICS_EXACT);
    scratch = aligned_alloc(4096, (props.workspace_size / 4096 + 1) * 4096);
    ck_assert(scratch != NULL && props.workspace_align <= 4096);
    memset(scratch, 0xff, props.workspace_size);        /* NaN, -1 */
    args.run.workspace = bring(&s, scratch, props.workspace_size);
    args.run.workspace_size = props.workspace_size;
    args.q = bring_array(&s, &w->q);
    args.o = bring_array(&s, &w->o);
    args.text = bring_keys(&s, w, 0);
    if (w->n_sets > 1)
        args.globals = bring_keys(&s, w, 1);
    if (program->more)
        program->more(w, &s, &args);
    for (int again = 0; again < (s.host ? 1 : 2); again++) {    /* the second after the first */
        heed_event *done = NULL;

        ck_assert_msg(heed_program_run(plan, world.queue, &args, &done, &world.why) == HEED_OK,
                      "%s: %s: %s: %s", w->name, world_name(), world.why.field,
                      world.why.message);
        heed_event_destroy(before);
        before = done;
        args.run.wait = &before;
        args.run.n_wait = 1;
    }
    ck_assert_int_eq(heed_event_wait(before, &world.why), HEED_OK);
    heed_event_destroy(before);
    if (!s.host)
        ck_assert_int_eq(heed_buf_read(world.queue, w->o.buf.handle, args.o,
                                       (size_t)world_count(&w->o) * sizeof(float), &world.why),
                         HEED_OK);
    heed_plan_drop(plan);
    take_back(&s);
    free(scratch);
}

/* ---- what is asked ---- */

/* One-hot rows of the text and the globals: channel c of the result is the weight of token c. */
static inline void program_weights(struct world_of *w)
{
    static struct seen_row row;
    const int sets = w->n_sets > SPARSE ? SPARSE : w->n_sets;
    const int64_t all = w->set[0].n + (sets > 1 ? w->set[1].n : 0), d_v = w->d_v;
    int64_t column = 0;

    world_widen(w, all);
    for (int s = 0; s < sets; column += w->set[s++].n)
        for (int64_t x = 0; x < w->batch * world_kv_heads(w) * w->set[s].n; x++)
            for (int64_t c = 0; c < all; c++)
                world_f32(&w->set[s].v)[x * all + c] = c == column + x % w->set[s].n;
    world_run(w);
    judge(w);
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < w->heads; h++)
            for (int64_t i = 0; i < w->n_q; i++) {
                const float *o = world_row(&w->o, b, h, i);

                row_collect(w, b, h, i, &row);
                for (int64_t c = 0; c < all; c++) {
                    double weight = 0;

                    for (int64_t k = 0; k < row.n; k++)
                        weight += (double)row.key[k].v[c];
                    ck_assert_msg((o[c] > 0) == (weight > 0), "%s on %s: head %d row %d weight %d",
                                  w->name, world_name(), (int)h, (int)i, (int)c);
                }
            }
    world_widen(w, d_v);
}

static inline void program_absent(struct world_of *w)
{
    const int sets = w->n_sets;

    w->n_sets = sets > SPARSE ? SPARSE : sets;  /* there is no memory of computed keys */
    probe_absent(w);
    w->n_sets = sets;
    world_widen(w, w->d_v);
    for (int s = 0; s < sets; s++)
        w->set[s].k = world_floats(HEED_F32, w->batch, world_kv_heads(w), w->set[s].n, w->d);
}

static inline void program_prove(struct world_of *w, const struct program *of, int device)
{
    heed_array own;

    program = of;
    w->run = program_run;
    program_open(device);
    proof.judged = 0;
    proof.worst = 0;
    world_make(w);
    world_run(w);
    judge(w);
    own = world_kept(w);
    on_reference(world_run_of, w);
    world_same(&own, &w->o, "the bits of the reference");
    program_absent(w);
    program_weights(w);
    ck_assert_msg(proof.worst <= 1, "%s: error / bound %g", w->name, proof.worst);
    printf("# %s on %s: %lld values, worst error / bound %.3f\n", w->name, world_name(),
           (long long)proof.judged, proof.worst);
    world_close();
}

#endif
