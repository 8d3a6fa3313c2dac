/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * See work.h.
 */
#include "crews.h"
#include "work.h"

#include "conform/engine/devices.h"
#include "golden/build.h"

#include <check.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char names[MAX_HOST_DEVICES][64];
    int count;
} places;

/* Check has no test at work yet where devices are counted first, and forks later: OpenMP's runtime,
 * which the built-in executor asks for a width, must not be awake before. */
int place_count(void)
{
    const heed_executor alone = crew_reverse(1);
    const heed_runtime_desc desc = { .size = sizeof(desc), .executor = &alone };
    heed_device *devices[MAX_HOST_DEVICES];
    heed_device_props props = { .size = sizeof(props) };
    heed_runtime *rt = NULL;
    int n;

    if (places.count > 0)
        return places.count;
    if (heed_runtime_create(&desc, &rt, NULL) < 0)
        abort();
    n = (int)cf_host_devices(rt, devices);
    for (int i = 0; i < n; i++) {
        if (heed_device_info(devices[i], &props) < 0)
            abort();
        memcpy(places.names[i], props.name, sizeof(props.name));
    }
    heed_runtime_destroy(rt);
    places.count = n;
    return n;
}

const char *place_name(int i)
{
    return i < place_count() ? places.names[i] : NULL;
}

int place_open(struct place *p, const char *name, const heed_executor *executor)
{
    const heed_allocator allocator = ledger_allocator(&p->ledger);
    const heed_runtime_desc desc = { .size = sizeof(desc),
                                     .allocator = &allocator,
                                     .executor = executor };
    heed_status status;

    memset(p, 0, sizeof(*p));
    ck_assert_int_eq(heed_runtime_create(&desc, &p->runtime, NULL), HEED_OK);
    status = heed_device_find(p->runtime, name, &p->device, NULL);
    if (status == HEED_E_NOT_FOUND || status == HEED_E_UNSUPPORTED) {
        place_close(p);
        return 0;
    }
    ck_assert_int_eq(status, HEED_OK);
    ck_assert_int_eq(heed_queue_create(p->device, 0, &p->queue, NULL), HEED_OK);
    return 1;
}

void place_close(struct place *p)
{
    heed_queue_destroy(p->queue);
    heed_runtime_destroy(p->runtime);
    ck_assert_int_eq(atomic_load(&p->ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&p->ledger.bytes), 0);
    ck_assert_int_eq(atomic_load(&p->ledger.mistakes), 0);
}

heed_executor width_of(uint32_t workers)
{
    const heed_executor e = { .size = sizeof(e), .width = workers };

    return e;
}

/* ---- cases of our own ---- */

/* More rows than a strip has, so K is packed; query heads share strips; items differ in length. */
static void many_rows(struct golden *g)
{
    const int64_t lengths[] = { 531, 70 }, mask_shape[] = { 2, 1, 531 };
    const int64_t bias_shape[] = { 1, 1, 531 };
    heed_source *source;
    uint8_t *mask;

    golden_query(g, HEED_F32, 2, 4, 450, 20, 12);
    source = golden_source(g, HEED_F16, 2, 2, 531);
    source->len_slot = golden_slot_i64(g, 2, lengths);
    mask = golden_array(g, HEED_U8, 2 * 531);
    for (int i = 0; i < 2 * 531; i++)
        mask[i] = golden_next(g) % 5 != 0;
    source->mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, mask_shape), mask);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 40, .right = 25 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 3 });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_DENSE,
                             .t = golden_slot_floats(g, HEED_BF16, 3, bias_shape, 0) });
}

/* Listed keys and rows, in strips of their own; one copy of K for all items. */
static void many_globals(struct golden *g)
{
    const int64_t entries[] = { 2, 6 }, heads[] = { 2 };
    const int32_t keys[] = { 0, 64, 127, 128, 300, -1, 5, 6, 7, 8, 9, 299 };
    const int32_t rows[] = { 1, 2, 190, 191, 192, 299, 0, -1, 5, 9, 30, 60 };
    heed_source *source;

    golden_query(g, HEED_BF16, 2, 2, 300, 9, 33);
    source = golden_source(g, HEED_F32, 1, 1, 310);
    source->flags = HEED_SOURCE_CAUSAL;
    g->desc.flags = HEED_ATTN_ALIGN_END;
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_KEYS,
                             .slot = golden_slot_i32(g, 2, entries, keys) });
    golden_term(g, 0,
                (heed_term){ .kind = HEED_TERM_GLOBAL,
                             .flags = HEED_TERM_ROWS,
                             .slot = golden_slot_i32(g, 2, entries, rows) });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 8, .step = 2 });
    golden_bias(g, 0,
                (heed_bias){ .kind = HEED_BIAS_ALIBI,
                             .t = golden_slot_floats(g, HEED_F32, 1, heads, -4) });
}

/* Packed queries and keys beside a list of runs. */
static void many_sequences(struct golden *g)
{
    const int64_t begins[] = { 0, 90, 300 }, lengths[] = { 90, 205, 0 };
    const int64_t list_shape[] = { 1, 1, 3, 4 };
    const int32_t runs[] = { 3, 0, 11, -1, 5, 5, 2, 1, 9, 8, 7, 6 };
    heed_source *source;
    uint32_t begin, length;

    golden_query(g, HEED_F16, 1, 2, 300, 16, 8);
    begin = golden_slot_i64(g, 3, begins);
    length = golden_slot_i64(g, 3, lengths);
    g->desc.q_layout = HEED_LAYOUT_RAGGED;
    g->desc.q_slot = begin;
    g->desc.q_len_slot = length;
    source = golden_source(g, HEED_BF16, 1, 2, 300);
    source->layout = HEED_LAYOUT_RAGGED;
    source->slot = begin;
    source->len_slot = length;
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 30, .block = 16 });
    source = golden_source(g, HEED_F32, 1, 1, 100);
    source->layout = HEED_LAYOUT_LISTED;
    source->run = 8;
    source->rows = 100;
    source->slot = golden_slot_i32(g, 4, list_shape, runs);
    golden_sinks(g, HEED_F32);
}

/* A row an item and many keys, which workers share by chunks; items differ in length. */
static void many_keys(struct golden *g)
{
    const int64_t lengths[] = { 5200, 1030, 0, 2048 }, mask_shape[] = { 4, 1, 5200 };
    heed_source *source;
    uint8_t *mask;

    golden_query(g, HEED_F32, 4, 4, 1, 40, 64);
    source = golden_source(g, HEED_BF16, 4, 2, 5200);
    source->len_slot = golden_slot_i64(g, 4, lengths);
    source = golden_source(g, HEED_F32, 4, 1, 1300);
    mask = golden_array(g, HEED_U8, 4 * 5200);
    for (int i = 0; i < 4 * 5200; i++)
        mask[i] = golden_next(g) % 7 != 0;
    source = golden_source(g, HEED_F16, 4, 4, 5200);
    source->mask_slot = golden_slot_of(g, golden_tensor(HEED_U8, 3, mask_shape), mask);
    golden_sinks(g, HEED_F32);
}

/* Some rows an item that see different keys of the same chunks, and every third of others. */
static void many_chunks(struct golden *g)
{
    heed_source *source;

    golden_query(g, HEED_F16, 1, 2, 5, 33, 96);
    g->desc.flags = HEED_ATTN_ALIGN_END;
    source = golden_source(g, HEED_F16, 1, 2, 4200);
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_GLOBAL, .block = 70 });
    golden_term(g, 0, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 3000, .step = 3 });
    source = golden_source(g, HEED_BF16, 1, 1, 2500);
    source->flags = HEED_SOURCE_CAUSAL;
    golden_term(g, 1, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 1900 });
}

/* [1][heads][lists][entries] of runs that `runs` keys have; some twice, some left out. */
static uint32_t lists_make(struct golden *g, int64_t heads, int64_t lists, int64_t entries,
                           int64_t runs)
{
    const int64_t shape[] = { 1, heads, lists, entries }, count = heads * lists * entries;
    int32_t *const list = golden_array(g, HEED_I32, count);

    for (int64_t i = 0; i < count; i++) {
        list[i] = (int32_t)(golden_next(g) % (uint64_t)runs);
        if (i > 0 && golden_next(g) % 6 == 0)
            list[i] = list[i - 1];
        if (golden_next(g) % 9 == 0)
            list[i] = -1;
    }
    return golden_slot_of(g, golden_tensor(HEED_I32, 4, shape), list);
}

static void lists_add(struct golden *g, uint32_t dtype, int64_t heads, int64_t keys,
                      int64_t entries, int32_t run, int32_t rows)
{
    heed_source *const source = golden_source(g, dtype, 1, heads, keys);

    source->layout = HEED_LAYOUT_LISTED;
    source->run = run;
    source->rows = rows;
    source->slot =
        lists_make(g, heads, (g->desc.q.shape[2] - 1) / rows + 1, entries, (keys - 1) / run + 1);
}

/* Lists of a row each, and of three, around a window. */
static void many_lists(struct golden *g)
{
    golden_query(g, HEED_F32, 1, 4, 230, 64, 64);
    g->desc.flags = HEED_ATTN_ALIGN_END;
    lists_add(g, HEED_F32, 2, 310, 37, 1, 1);
    golden_source(g, HEED_F32, 1, 2, 230)->flags = HEED_SOURCE_CAUSAL;
    golden_term(g, 1, (heed_term){ .kind = HEED_TERM_WINDOW, .left = 70 });
    lists_add(g, HEED_BF16, 2, 131, 11, 7, 3);
    g->sources[2].flags = HEED_SOURCE_CAUSAL;
}

/* Some rows, whose lists have several chunks. */
static void many_listed_keys(struct golden *g)
{
    golden_query(g, HEED_F32, 1, 2, 7, 64, 32);
    lists_add(g, HEED_F32, 1, 2500, 2300, 1, 1);
    golden_source(g, HEED_F32, 1, 2, 1300);
    lists_add(g, HEED_BF16, 2, 900, 260, 9, 2);
}

static const struct golden_case own[] = {
    { "many_lists", many_lists },
    { "many_listed_keys", many_listed_keys },
    { "many_keys", many_keys },
    { "many_chunks", many_chunks },
    { "many_rows", many_rows },
    { "many_globals", many_globals },
    { "many_sequences", many_sequences },
};

#define ONE(name) +1
enum { OWN = sizeof(own) / sizeof(own[0]), GOLDEN = 0 GOLDEN_CASES(ONE) };
#undef ONE

const size_t work_count = OWN + GOLDEN;

static const struct golden_case *case_of(size_t index)
{
    return index < OWN ? &own[index] : &golden_cases[index - OWN];
}

size_t work_find(const char *name)
{
    for (size_t i = 0; i < work_count; i++) {
        if (strcmp(case_of(i)->name, name) == 0)
            return i;
    }
    ck_abort_msg("no case %s", name);
    return 0;
}

/* ---- running ---- */

static void *memory(size_t bytes)
{
    void *p = malloc(bytes + 1);

    ck_assert_ptr_nonnull(p);
    return p;
}

void space_start(struct space *s, const heed_plan *plan)
{
    heed_plan_props props = { .size = sizeof(props) };
    uint64_t align;

    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    align = props.workspace_align;
    s->bytes = props.workspace_size;
    s->block = memory((size_t)(props.workspace_size + align));
    memset(s->block, 0xd5, (size_t)(props.workspace_size + align));
    s->buf.handle = s->block;
    s->buf.offset = (align - (uintptr_t)s->block % align) % align;
}

/* Whatever is read of it without having been written is NaN. */
void space_poison(const struct space *s)
{
    memset(s->block, 0xff, (size_t)(s->buf.offset + s->bytes));
}

void space_finish(struct space *s)
{
    free(s->block);
}

void space_into(const struct space *s, heed_attn_args *args)
{
    args->workspace = s->buf;
    args->workspace_size = s->bytes;
}

uint64_t place_run(const struct place *p, const heed_attn_desc *desc, heed_attn_args args)
{
    heed_report why = { .size = sizeof(why) };
    heed_plan *plan = NULL;
    struct space space;

    ck_assert_msg(heed_attn_plan(p->device, desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    space_start(&space, plan);
    space_into(&space, &args);
    ck_assert_msg(heed_attn_run(plan, p->queue, &args, NULL, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    space_finish(&space);
    heed_plan_drop(plan);
    return space.bytes;
}

heed_plan *work_plan(struct work *w, const struct place *p, uint32_t flags)
{
    heed_report why = { .size = sizeof(why) };
    heed_attn_desc desc = w->g.desc;
    heed_plan *plan = NULL;

    desc.flags |= flags;
    ck_assert_msg(heed_attn_plan(p->device, &desc, &plan, &why) == HEED_OK, "%s: %s: %s", w->name,
                  why.field, why.message);
    return plan;
}

void work_poison(struct work *w)
{
    memset(w->o, 0xab, w->o_bytes);
    memset(w->lse, 0xab, w->lse_bytes);
}

int work_right(const struct work *w, const void *o, const void *lse)
{
    return memcmp(o, w->want_o, w->o_bytes) == 0 && memcmp(lse, w->want_lse, w->lse_bytes) == 0;
}

static size_t first_difference(const void *a, const void *b, size_t bytes)
{
    size_t i = 0;

    while (i < bytes && ((const char *)a)[i] == ((const char *)b)[i])
        i++;
    return i;
}

void work_judge(const struct work *w, const char *device, const char *how)
{
    const size_t o = first_difference(w->o, w->want_o, w->o_bytes);
    const size_t lse = first_difference(w->lse, w->want_lse, w->lse_bytes);

    ck_assert_msg(o == w->o_bytes && lse == w->lse_bytes,
                  "%s on %s, %s: first wrong byte of o %zu of %zu, of lse %zu of %zu", w->name,
                  device, how, o, w->o_bytes, lse, w->lse_bytes);
}

void work_run(struct work *w, const struct place *p, const heed_plan *plan,
              const struct space *space, const char *how)
{
    heed_report why = { .size = sizeof(why) };
    heed_attn_args args = w->g.args;
    heed_device_props props = { .size = sizeof(props) };

    ck_assert_int_eq(heed_device_info(p->device, &props), HEED_OK);
    if (space != NULL)
        space_into(space, &args);
    work_poison(w);
    ck_assert_msg(heed_attn_run(plan, p->queue, &args, NULL, &why) == HEED_OK, "%s: %s: %s",
                  w->name, why.field, why.message);
    work_judge(w, props.name, how);
}

/* The reference's result becomes the wanted one. */
static void want(struct work *w)
{
    struct place p;

    ck_assert(place_open(&p, "reference", NULL));
    work_poison(w);
    place_run(&p, &w->g.desc, w->g.args);
    memcpy(w->want_o, w->o, w->o_bytes);
    memcpy(w->want_lse, w->lse, w->lse_bytes);
    place_close(&p);
}

void work_start_case(struct work *w, const struct golden_case *c, uint64_t seed)
{
    struct golden *g = &w->g;
    fenv_t caller;

    memset(w, 0, sizeof(*w));
    w->name = c->name;
    golden_make(g, c, seed);
    w->o_bytes = (size_t)g->o_count * golden_size_of(g->desc.o.dtype);
    w->lse_bytes = (size_t)g->lse_count * sizeof(float);
    w->o = g->o;
    w->lse = g->lse;
    w->want_o = memory(w->o_bytes);
    w->want_lse = memory(w->lse_bytes);
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    want(w);
    fesetenv(&caller);
}

void work_start(struct work *w, size_t index)
{
    work_start_case(w, case_of(index), index + 1);
}

/* ---- moving ---- */

static void move_input(const struct golden *g, heed_buf *buf, work_mover *move, void *context)
{
    for (int i = 0; i < g->n_inputs && buf->handle != NULL; i++) {
        const struct golden_array *a = &g->inputs[i];
        const size_t element = golden_size_of(a->dtype);

        if (a->data == buf->handle) {
            const uint64_t offset = buf->offset;

            *buf = move(context, a->data, (size_t)a->count * element, element);
            buf->offset += offset;
            return;
        }
    }
}

void work_move(struct work *w, work_mover *move, void *context)
{
    struct golden *g = &w->g;

    move_input(g, &g->args.q, move, context);
    move_input(g, &g->args.sinks, move, context);
    for (uint32_t s = 0; s < g->desc.n_sources; s++) {
        move_input(g, &g->kv[s].k, move, context);
        move_input(g, &g->kv[s].v, move, context);
    }
    for (uint32_t i = 0; i < g->desc.n_slots; i++)
        move_input(g, &g->slot_bufs[i], move, context);
    g->args.o = move(context, g->o, w->o_bytes, golden_size_of(g->desc.o.dtype));
    g->args.lse = move(context, g->lse, w->lse_bytes, sizeof(float));
    w->o = (char *)g->args.o.handle + g->args.o.offset;
    w->lse = (char *)g->args.lse.handle + g->args.lse.offset;
}

void work_return(struct work *w, const struct golden *saved)
{
    w->g.args = saved->args;
    memcpy(w->g.kv, saved->kv, sizeof(saved->kv));
    memcpy(w->g.slot_bufs, saved->slot_bufs, sizeof(saved->slot_bufs));
    w->o = w->g.o;
    w->lse = w->g.lse;
}

void work_finish(struct work *w)
{
    golden_free(&w->g);
    free(w->want_o);
    free(w->want_lse);
}
