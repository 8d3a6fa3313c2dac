/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Constant slots of any strides: overlapping, reversed, repeated, with gaps. Every exact device
 * must give the bits that the reference gives for a dense copy; and what a constant costs is what
 * is stored of it, not how many indices lead there.
 */
#include "lib/ops/attn/check.h"
#include "support/suite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { H = 2, N_Q = 3, N_K = 4, D = 2, ROOM = 256, ORIGIN = ROOM / 2 };

static struct {
    float q[H][N_Q][D], k[H][N_K][D], v[H][N_K][D], o[H][N_Q][D];
} memory;
static float table[8] = { 0.5f, -1.0f, 2.0f, 0.25f, -0.75f, 1.5f, -2.5f, 3.0f };

static heed_tensor tensor(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = { a, b, c };
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t stride = 1;

    for (uint32_t i = ndim; i-- > 0; stride *= shape[i]) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
    }
    return t;
}

/* The attention that a use is looked at in; slot 1 is the constant. */
struct scene {
    heed_attn_desc d;
    heed_source source;
    heed_bias bias;
    heed_slot slots[2];
};

static const struct use {
    const char *name;
    heed_bias bias;
    uint32_t mask_slot, layout;
    uint32_t dtype, axes;
    int64_t shape[3];
} uses[] = {
    { "dense", { .kind = HEED_BIAS_DENSE, .t = 1 }, 0, 0, HEED_F32, 3, { H, N_Q, N_K } },
    { "table", { .kind = HEED_BIAS_TABLE, .t = 1, .zero = 2 }, 0, 0, HEED_F32, 2, { H, 5 } },
    { "map", { .kind = HEED_BIAS_TABLE, .t = 2, .map = 1, .zero = 2 }, 0, 0, HEED_I32, 1, { 6 } },
    { "k_coord", { .kind = HEED_BIAS_TABLE, .t = 2, .k_coord = 1, .zero = 3 }, 0, 0, HEED_I64, 1,
      { N_K } },
    { "q_coord", { .kind = HEED_BIAS_TABLE, .t = 2, .q_coord = 1, .zero = 3 }, 0, 0, HEED_I32, 1,
      { N_Q } },
    { "mask", { 0 }, 1, 0, HEED_U8, 2, { H, N_K } },
    { "runs", { 0 }, 0, HEED_LAYOUT_LISTED, HEED_I32, 3, { H, N_Q, 3 } },
};
enum { USES = sizeof(uses) / sizeof(*uses) };

static void fill(uint32_t dtype, void *to)
{
    for (int i = 0; i < ROOM; i++) {
        switch (dtype) {
        case HEED_F32:
            ((float *)to)[i] = (float)(i * 37 % 64 - 32) / 8;
            break;
        case HEED_U8:
            ((uint8_t *)to)[i] = i * 3 % 5 != 0;
            break;
        case HEED_I32:
            ((int32_t *)to)[i] = i * 5 % 4 - 1;
            break;
        default:
            ((int64_t *)to)[i] = i * i % 7 - 3;
            break;
        }
    }
}

static size_t size_of(uint32_t dtype)
{
    return dtype == HEED_U8 ? 1 : dtype == HEED_I64 ? 8 : 4;
}

static void scene_start(struct scene *s, const struct use *use)
{
    memset(s, 0, sizeof(*s));
    s->slots[1] = (heed_slot){ tensor(HEED_F32, 2, 1, 8, 1), table };
    s->source.k = tensor(HEED_F32, 3, H, N_K, D);
    s->source.v = s->source.k;
    s->source.mask_slot = use->mask_slot;
    s->source.layout = use->layout;
    s->source.slot = use->layout == HEED_LAYOUT_LISTED;
    s->bias = use->bias;
    if (s->bias.kind != 0) {
        s->source.biases = &s->bias;
        s->source.n_biases = 1;
        s->source.bias_size = sizeof(s->bias);
    }
    s->d = (heed_attn_desc){
        .size = sizeof(s->d),
        .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .q = tensor(HEED_F32, 3, H, N_Q, D),
        .o = tensor(HEED_F32, 3, H, N_Q, D),
        .sources = &s->source,
        .n_sources = 1,
        .source_size = sizeof(s->source),
        .slots = s->slots,
        .n_slots = 2,
        .slot_size = sizeof(s->slots[0]),
    };
}

static heed_buf lend(heed_device *device, heed_queue *queue, const void *bytes, size_t size)
{
    heed_buf buf = { NULL, 0 };

    ck_assert_int_eq(heed_buf_create(device, size, &buf, NULL), HEED_OK);
    ck_assert_int_eq(heed_buf_write(queue, buf, bytes, size, NULL), HEED_OK);
    return buf;
}

/* A device with the memory of the attention in it. */
struct world {
    heed_device *device;
    heed_queue *queue;
    heed_buf q, k, v, o;
    heed_device_props props;
};

/* false: this device promises no bits, or cannot be used. */
static bool world_start(struct world *w, heed_device *device)
{
    *w = (struct world){ .device = device, .props = { .size = sizeof(w->props) } };
    ck_assert_int_eq(heed_device_info(device, &w->props), HEED_OK);
    if (w->props.usable < 0 || !w->props.exact)
        return false;
    ck_assert_int_eq(heed_queue_create(device, 0, &w->queue, NULL), HEED_OK);
    w->q = lend(device, w->queue, memory.q, sizeof(memory.q));
    w->k = lend(device, w->queue, memory.k, sizeof(memory.k));
    w->v = lend(device, w->queue, memory.v, sizeof(memory.v));
    w->o = lend(device, w->queue, memory.o, sizeof(memory.o));
    return true;
}

static void world_finish(struct world *w)
{
    heed_buf_destroy(w->device, w->q);
    heed_buf_destroy(w->device, w->k);
    heed_buf_destroy(w->device, w->v);
    heed_buf_destroy(w->device, w->o);
    heed_queue_destroy(w->queue);
}

static void run_on(const struct world *w, const heed_attn_desc *d, float o[H][N_Q][D])
{
    const heed_kv_bufs kv = { w->k, w->v };
    const heed_buf none[2] = { { NULL, 0 } };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv), .q = w->q,
                                  .o = w->o, .kv = &kv, .slots = none, .n_slots = 2 };
    heed_report why = { .size = sizeof(why) };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(w->device, d, &plan, &why) >= 0, "%s: %s", w->props.name,
                  why.message);
    ck_assert_msg(heed_attn_run(plan, w->queue, &args, NULL, &why) >= 0, "%s: %s", w->props.name,
                  why.message);
    ck_assert_int_eq(heed_queue_wait(w->queue, NULL), HEED_OK);
    ck_assert_int_eq(heed_buf_read(w->queue, o, w->o, sizeof(memory.o), NULL), HEED_OK);
    heed_plan_drop(plan);
}

/* Element by element, from the middle of `from`. */
static void gather(const struct use *use, const int64_t stride[3], const char *from, char *to)
{
    const int64_t y = use->axes > 1 ? use->shape[1] : 1, z = use->axes > 2 ? use->shape[2] : 1;
    const size_t size = size_of(use->dtype);

    for (int64_t i = 0; i < use->shape[0] * y * z; i++) {
        const int64_t at = i / (y * z) * stride[0] + i / z % y * stride[1] + i % z * stride[2];

        memcpy(to + (size_t)i * size, from + (ORIGIN + at) * (int64_t)size, size);
    }
}

static const int64_t strides[] = { 1, -1, 0, 2, -3, 13 };
enum { STRIDES = sizeof(strides) / sizeof(*strides) };

/* The heed_tensor.stride of pattern number n; false: no such pattern. */
static bool pattern(uint32_t axes, int n, int64_t stride[3])
{
    for (uint32_t i = 0; i < axes; i++, n /= STRIDES)
        stride[i] = strides[n % STRIDES];
    return n == 0;
}

static void uses_compare(const struct world *w, const struct world *reference)
{
    static union { char bytes[ROOM * 8]; int64_t align; } from, to;

    for (const struct use *use = uses; use < uses + USES; use++) {
        int64_t stride[3] = { 0 };

        fill(use->dtype, from.bytes);
        for (int n = 0; pattern(use->axes, n, stride); n++) {
            float want[H][N_Q][D], got[H][N_Q][D];
            struct scene s;

            scene_start(&s, use);
            s.slots[0].t = tensor(use->dtype, use->axes, use->shape[0], use->shape[1],
                                  use->shape[2]);
            gather(use, stride, from.bytes, to.bytes);
            s.slots[0].data = to.bytes;
            run_on(reference, &s.d, want);
            memcpy(s.slots[0].t.stride, stride, sizeof(stride));
            s.slots[0].data = from.bytes + (size_t)ORIGIN * size_of(use->dtype);
            run_on(w, &s.d, got);
            ck_assert_msg(memcmp(want, got, sizeof(want)) == 0,
                          "%s: %s with strides %d, %d, %d: o[0][0][0] is %a, wanted %a",
                          w->props.name, use->name, (int)stride[0], (int)stride[1],
                          (int)stride[2], (double)got[0][0][0], (double)want[0][0][0]);
        }
    }
}

TEST(any_strides_give_the_bits_of_a_dense_copy)
{
    heed_runtime *rt = NULL;
    struct world reference;
    heed_device *device = NULL;
    uint32_t compared = 0;

    for (size_t i = 0; i < sizeof(memory) / sizeof(float); i++)
        ((float *)&memory)[i] = (float)((int)(i * 29 % 31) - 15) / 16;
    ck_assert_int_eq(heed_runtime_create(NULL, &rt, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(rt, "reference", &device, NULL), HEED_OK);
    ck_assert(world_start(&reference, device));
    for (uint32_t i = 0; i < heed_device_count(rt); i++) {
        struct world w;

        if (!world_start(&w, heed_device_get(rt, i)))
            continue;
        uses_compare(&w, &reference);
        world_finish(&w);
        compared++;
    }
    world_finish(&reference);
    heed_runtime_destroy(rt);
    ck_assert_uint_ge(compared, 2);
}

/* splitmix64 (Steele, Lea and Flood 2014). */
static int64_t draw(uint64_t *state, int64_t low, int64_t high)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return low + (int64_t)((z ^ z >> 31) % (uint64_t)(high - low + 1));
}

/* Lists, ranges and runs for 3 items. */
static const struct {
    heed_term term;
    uint32_t layout, ndim;
    int64_t shape[4];
} judged[] = {
    { { .kind = HEED_TERM_GLOBAL, .slot = 1 }, HEED_LAYOUT_DENSE, 2, { 3, 4 } },
    { { .kind = HEED_TERM_GLOBAL, .slot = 1, .flags = HEED_TERM_KEYS | HEED_TERM_ROWS },
      HEED_LAYOUT_DENSE, 2, { 3, 2 } },
    { { .kind = HEED_TERM_SEGMENT, .slot = 1 }, HEED_LAYOUT_DENSE, 3, { 3, N_Q, 2 } },
    { { .kind = HEED_TERM_ALL }, HEED_LAYOUT_LISTED, 4, { 3, 1, N_Q, 3 } },
};
enum { JUDGED = sizeof(judged) / sizeof(*judged) };

static heed_status judge(size_t kind, const heed_slot *slot)
{
    const heed_tensor q = { HEED_F32, 4, { 3, 1, N_Q, 1 }, { N_Q, N_Q, 1, 1 } };
    const heed_tensor k = { HEED_F32, 3, { 1, 9, 1 }, { 9, 1, 1 } };
    const heed_source source = { .k = k, .v = k, .layout = judged[kind].layout,
                                 .slot = judged[kind].layout == HEED_LAYOUT_LISTED,
                                 .terms = &judged[kind].term, .n_terms = 1,
                                 .term_size = sizeof(heed_term) };
    const heed_attn_desc d = { .size = sizeof(d), .q = q, .o = q, .sources = &source,
                               .n_sources = 1, .source_size = sizeof(source), .slots = slot,
                               .n_slots = 1, .slot_size = sizeof(*slot) };
    const struct heed_checked *out = NULL;
    struct heed_arena arena;
    heed_status status;

    heed_arena_init(&arena, NULL);
    status = heed_check_attn(&d, &arena, &out, NULL);
    heed_arena_finish(&arena);
    return status;
}

/* An array that overlaps itself is walked by what is stored: the answer must be that of a dense
 * copy, in which every index has an entry of its own. */
TEST(views_are_judged_like_their_dense_copies)
{
    uint64_t state = 11;
    int met[2] = { 0, 0 };

    for (int n = 0; n < 40000; n++) {
        const size_t kind = (size_t)n % JUDGED;
        int32_t from[64], to[64];
        heed_slot slot = { { .dtype = HEED_I32, .ndim = judged[kind].ndim }, NULL };
        int64_t index[4] = { 0 }, dense[4], size = 1;
        heed_status want;

        for (int i = 0; i < 64; i++)
            from[i] = (int32_t)(draw(&state, 0, 20) == 0 ? draw(&state, -2, 9) : i / 3 - 6);
        for (uint32_t i = judged[kind].ndim; i-- > 0; size *= judged[kind].shape[i]) {
            slot.t.shape[i] = judged[kind].shape[i];
            slot.t.stride[i] = draw(&state, -2, 3);
            dense[i] = size;
        }
        for (int64_t i = 0; i < size; i++) {
            int64_t at = 32;

            for (uint32_t a = 0; a < judged[kind].ndim; a++) {
                index[a] = i / dense[a] % judged[kind].shape[a];
                at += index[a] * slot.t.stride[a];
            }
            to[i] = from[at];
        }
        slot.data = from + 32;
        want = judge(kind, &slot);
        slot.data = to;
        memcpy(slot.t.stride, dense, sizeof(dense));
        ck_assert_msg(judge(kind, &slot) == want, "case %d: %d of the view", n, (int)want);
        met[want < 0]++;
    }
    ck_assert_int_gt(met[0], 4000);
    ck_assert_int_gt(met[1], 4000);
}

/* 8 KB that 2^36 indices lead to: each entry is looked at once, and a fault is found wherever it is
 * stored, but not where no index leads. */
TEST(what_is_stored_is_validated_not_every_path_to_it)
{
    enum { LONG = 512, LAST = 4 * (LONG - 1) };
    static int32_t list[2 * LAST + 3];
    const heed_tensor q = { HEED_F32, 6, { LONG, LONG, LONG, 1, 1, 1 },
                            { LONG * LONG, LONG, 1, 1, 1, 1 } };
    const heed_tensor k = tensor(HEED_F32, 3, 1, 2 * LAST + 3, 1);
    const heed_term term = { .kind = HEED_TERM_GLOBAL, .slot = 1 };
    heed_slot slot = { { HEED_I32, 4, { LONG, LONG, LONG, LONG }, { 1, 1, 1, 1 } }, list };
    heed_source source = { .k = k, .v = k, .terms = &term, .n_terms = 1,
                           .term_size = sizeof(term) };
    const heed_attn_desc d = { .size = sizeof(d), .q = q, .o = q, .sources = &source,
                               .n_sources = 1, .source_size = sizeof(source), .slots = &slot,
                               .n_slots = 1, .slot_size = sizeof(slot) };
    heed_report why = { .size = sizeof(why) };
    heed_device *device = NULL;
    heed_runtime *rt = NULL;

    ck_assert_int_eq(heed_runtime_create(NULL, &rt, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(rt, "reference", &device, NULL), HEED_OK);
    for (int i = 0; i < 2 * LAST + 3; i++)
        list[i] = i;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    list[LAST - 1] = LAST - 2;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    ck_assert_int_eq(why.wanted, LAST - 1);
    ck_assert_int_eq(why.got, LAST - 2);
    list[LAST - 1] = LAST - 1;
    list[LAST + 1] = -7;                    /* no list reaches it */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_OK);
    list[LAST] = -1;                        /* the last list may end so */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_OK);
    list[LAST - LONG] = -1;                 /* others may not go on after their end */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    /* LISTED: even entries are named, backwards; the others may be anything. */
    for (int i = 0; i < 2 * LAST + 3; i++)
        list[i] = i % 2 ? INT32_MAX : i;
    slot.t = (heed_tensor){ HEED_I32, 6, { LONG, LONG, LONG, 1, 1, LONG },
                            { -2, -2, -2, 0, 0, 2 } };
    slot.data = list + 6 * (LONG - 1);
    source.n_terms = 0;
    source.layout = HEED_LAYOUT_LISTED;
    source.slot = 1;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    list[2 * LAST] = 2 * LAST + 3;          /* the highest one that is reached: no such key */
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    list[2 * LAST] = -1;
    list[0] = -2;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_INDEX);
    /* Sequences pair two arrays, so there is nothing to mark: so many of them are refused. */
    memset(list, 0, sizeof(list));
    slot.data = list;
    slot.t = (heed_tensor){ HEED_I32, 3, { LONG, LONG, LONG }, { 1, 1, 1 } };
    source.layout = HEED_LAYOUT_RAGGED;
    source.len_slot = 1;
    ck_assert_int_eq(heed_attn_check(device, &d, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.field, "sources[0].slot");
    slot.t.stride[0] = slot.t.stride[1] = 0;
    ck_assert_msg(heed_attn_check(device, &d, &why) == HEED_OK, "%s", why.message);
    heed_runtime_destroy(rt);
}

int main(void)
{
    return suite_run("constants", 240, NULL, NULL);
}
