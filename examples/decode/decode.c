/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A toy that generates text, as an engine does it: a cache of pages that sequences share as far as
 * they begin alike, and a cache that never grows: the first tokens and a ring of the last ones
 * (Xiao et al. 2024, StreamingLLM). In each step one row is appended and one row attends.
 *
 *     decode [DEVICE...]      without names: every device that can be used
 *
 * The toy has no weights: keys and values are noise made from a token's number, queries from that
 * and the place, and the next token is the one whose noise fits the output best. What counts
 * is told at the end of a line: whether every step had the bits of an attention over a plain cache,
 * and whether all devices wrote the same. Exit status 0: both.
 */
#include "toy.h"

#include <heed/memory.h>

#include <string.h>

enum {
    PAGE = 16, PAGES = 8, POOL = 20,                /* pages of a sequence, of all */
    PROMPT = 40, STEPS = 60, MOST = PAGES * PAGE,   /* tokens */
    SINKS = 4, RING = 24
};

/* ---- an attention from one row of each sequence ---- */

struct reader {
    heed_plan *plan;
    heed_attn_args args;
    heed_kv_bufs kv[2];
    heed_buf slots[5];
    heed_buf q, o;
};

enum { SLOT_SLOPES = 1, SLOT_LEN, SLOT_WHERE, SLOT_FIRST_LEN, SLOTS = SLOT_FIRST_LEN };

/* sources: those of the cache; WHERE, the slot of a table or of heads, may be absent. A token that
 * is far away counts less: linear biases, each head with its own slope. */
static void reader_open(struct world *w, struct reader *r, heed_source *sources, uint32_t n,
                        const heed_tensor *where)
{
    static const heed_bias distance = { .kind = HEED_BIAS_ALIBI, .t = SLOT_SLOPES };
    static float slopes[HEADS];
    const int64_t heads = HEADS;
    heed_slot slots[SLOTS] = {
        [SLOT_SLOPES - 1] = { heed_array_dense(HEED_F32, NULL, 1, &heads).t, slopes },
        [SLOT_LEN - 1] = { integers(HEED_I64, 0), NULL },
        [SLOT_FIRST_LEN - 1] = { integers(HEED_I64, 0), NULL },
    };
    heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_ATTN_ALIGN_END | HEED_PLAN_OWN_WORKSPACE,
        .q = rows_of(SEQUENCES, HEADS, 1),
        .o = rows_of(SEQUENCES, HEADS, 1),
        .sources = sources, .n_sources = n, .source_size = sizeof *sources,
        .slots = slots, .n_slots = SLOTS, .slot_size = sizeof *slots,
    };

    for (int h = 0; h < HEADS; h++)
        slopes[h] = 1.0f / (float)(2 << h);
    if (where)
        slots[SLOT_WHERE - 1].t = *where;
    for (uint32_t s = 0; s < n; s++) {
        sources[s].biases = &distance;
        sources[s].n_biases = 1;
        sources[s].bias_size = sizeof distance;
    }
    must(w, heed_attn_plan(w->device, &desc, &r->plan, &w->why));
    r->q = place(w, NULL, sizeof(float) * SEQUENCES * HEADS * D);
    r->o = place(w, NULL, sizeof(float) * SEQUENCES * HEADS * D);
    r->args = (heed_attn_args){
        .size = sizeof r->args, .kv_size = sizeof *r->kv, .q = r->q, .o = r->o,
        .kv = r->kv, .slots = r->slots, .n_slots = SLOTS,
    };
}

/* o: [SEQUENCES][HEADS][D] */
static void reader_step(struct world *w, struct reader *r, const float *q, float *o)
{
    const size_t bytes = sizeof(float) * SEQUENCES * HEADS * D;

    put(w, r->q, q, bytes);
    if (w->failed)
        return;
    must(w, heed_attn_run(r->plan, w->queue, &r->args, NULL, &w->why));
    if (!w->failed)
        must(w, heed_buf_read(w->queue, o, r->o, bytes, &w->why));
}

/* ---- the text so far, and its keys and values as plain arrays ---- */

struct text {
    int tokens[SEQUENCES][MOST];
    int n;
};

/* Keys or values of tokens [first, end) of all sequences, rows of room for `room`. */
static void plain_rows(const struct text *text, uint32_t kind, int first, int end, int room,
                       float *to)
{
    for (int b = 0; b < SEQUENCES; b++) {
        for (int i = first; i < end; i++) {
            float row[KEY_HEADS * D];

            noise_row(kind, text->tokens[b][i], KEY_HEADS, row);
            for (int h = 0; h < KEY_HEADS; h++)
                memcpy(to + ((b * KEY_HEADS + h) * room + i - first) * D, row + h * D,
                       sizeof(float) * D);
        }
    }
}

static void put_plain(struct world *w, const struct text *text, const heed_kv_bufs *kv, int first,
                      int end, int room)
{
    static float rows[SEQUENCES * KEY_HEADS * MOST * D];

    for (int v = 0; v < 2; v++) {
        memset(rows, 0, sizeof rows);
        plain_rows(text, v ? VALUE : KEY, first, end, room, rows);
        put(w, v ? kv->v : kv->k, rows, sizeof(float) * SEQUENCES * KEY_HEADS * (size_t)room * D);
    }
}

/* For `room` tokens of each sequence. */
static heed_kv_bufs place_plain(struct world *w, int room)
{
    const size_t bytes = sizeof(float) * SEQUENCES * KEY_HEADS * (size_t)room * D;

    return (heed_kv_bufs){ place(w, NULL, bytes), place(w, NULL, bytes) };
}

static heed_source plain_source(int room)
{
    return (heed_source){ .k = rows_of(SEQUENCES, KEY_HEADS, room),
                          .v = rows_of(SEQUENCES, KEY_HEADS, room), .len_slot = SLOT_LEN };
}

/* ---- the paged cache ---- */

struct paged {
    heed_kv_bufs pool;                  /* [POOL][KEY_HEADS][PAGE][D] */
    heed_buf table, len, at, count, new_k, new_v;
    int32_t pages[SEQUENCES][PAGES];
    int used;
    heed_plan *append;
    struct reader reader;
};

/* A row of each sequence goes to its place `at`, in a page that the table names. */
static void paged_open(struct world *w, struct paged *cache)
{
    const size_t pool = sizeof(float) * POOL * KEY_HEADS * PAGE * D;
    const heed_tensor table = integers(HEED_I32, PAGES);
    heed_source source = { .k = rows_of(POOL, KEY_HEADS, PAGE), .v = rows_of(POOL, KEY_HEADS, PAGE),
                           .layout = HEED_LAYOUT_PAGED, .slot = SLOT_WHERE,
                           .len_slot = SLOT_LEN };
    heed_copy_desc append = { .size = sizeof append, .x = rows_of(SEQUENCES, KEY_HEADS, 1),
                              .y = rows_of(POOL, KEY_HEADS, PAGE), .at = integers(HEED_I64, 0),
                              .table = table, .len = integers(HEED_I64, 0) };

    memset(cache->pages, 0xff, sizeof cache->pages);            /* -1: no page yet */
    cache->pool = (heed_kv_bufs){ place(w, NULL, pool), place(w, NULL, pool) };
    cache->table = place(w, cache->pages, sizeof cache->pages);
    cache->len = place(w, NULL, sizeof(int64_t) * SEQUENCES);
    cache->at = place(w, NULL, sizeof(int64_t) * SEQUENCES);
    cache->count = place(w, NULL, sizeof(int64_t) * SEQUENCES);
    cache->new_k = place(w, NULL, sizeof(float) * SEQUENCES * KEY_HEADS * D);
    cache->new_v = place(w, NULL, sizeof(float) * SEQUENCES * KEY_HEADS * D);
    append.flags = HEED_PLAN_OWN_WORKSPACE;
    must(w, heed_copy_plan(w->device, &append, &cache->append, &w->why));
    reader_open(w, &cache->reader, &source, 1, &table);
    cache->reader.kv[0] = cache->pool;
    cache->reader.slots[SLOT_WHERE - 1] = cache->table;
    cache->reader.slots[SLOT_LEN - 1] = cache->len;
}

/* Pages that lie wholly in the prompt belong to all sequences; any other is one sequence's. */
static bool is_shared(int token)
{
    return token / PAGE * PAGE + PAGE < PROMPT;
}

static void paged_grow(struct world *w, struct paged *cache, int token)
{
    if (token % PAGE != 0)
        return;
    for (int b = 0; b < SEQUENCES; b++)
        cache->pages[b][token / PAGE] =
            is_shared(token) && b > 0 ? cache->pages[0][token / PAGE] : (int32_t)cache->used++;
    if (cache->used > POOL)
        w->failed = true;
    put(w, cache->table, cache->pages, sizeof cache->pages);
}

/* The rows of the last token of each sequence; one sequence writes those of a shared page. */
static void paged_append(struct world *w, struct paged *cache, const struct text *text)
{
    float row[SEQUENCES * KEY_HEADS * D];
    int64_t at[SEQUENCES], len[SEQUENCES], count[SEQUENCES];
    heed_copy_args args = { .size = sizeof args, .at = cache->at, .table = cache->table,
                            .len = cache->count };

    paged_grow(w, cache, text->n - 1);
    for (int b = 0; b < SEQUENCES; b++) {
        at[b] = text->n - 1;
        len[b] = text->n;
        count[b] = b > 0 && is_shared(text->n - 1) ? 0 : 1;
    }
    put(w, cache->at, at, sizeof at);
    put(w, cache->count, count, sizeof count);
    put(w, cache->len, len, sizeof len);
    for (int v = 0; v < 2 && !w->failed; v++) {
        plain_rows(text, v ? VALUE : KEY, text->n - 1, text->n, 1, row);
        args.x = v ? cache->new_v : cache->new_k;
        args.y = v ? cache->pool.v : cache->pool.k;
        put(w, args.x, row, sizeof row);
        must(w, heed_copy_run(cache->append, w->queue, &args, NULL, &w->why));
    }
}

/* ---- the first tokens and a ring of the last ones ---- */

struct ring {
    heed_kv_bufs first, last;
    heed_buf first_len, head[2], len[2], new_rows[2];   /* of keys and of values: always equal */
    heed_plan *push;
    struct reader reader;
};

static heed_source first_source(void)
{
    heed_source source = plain_source(SINKS);

    source.len_slot = SLOT_FIRST_LEN;
    return source;
}

static void ring_open(struct world *w, struct ring *ring)
{
    const heed_tensor heads = integers(HEED_I64, 0);
    heed_source sources[2] = { first_source(), plain_source(RING) };
    heed_push_desc push = { .size = sizeof push, .flags = HEED_PLAN_OWN_WORKSPACE,
                            .rows = rows_of(SEQUENCES, KEY_HEADS, RING), .head = heads,
                            .len = heads, .x = rows_of(SEQUENCES, KEY_HEADS, 1) };

    /* Positions within the cache, as in the paper: the ring's oldest row follows the first ones. */
    sources[1].layout = HEED_LAYOUT_RING;
    sources[1].slot = SLOT_WHERE;
    sources[1].pos0 = SINKS;
    ring->first = place_plain(w, SINKS);
    ring->last = place_plain(w, RING);
    ring->first_len = place(w, NULL, sizeof(int64_t) * SEQUENCES);
    for (int v = 0; v < 2; v++) {
        ring->head[v] = place(w, NULL, sizeof(int64_t) * SEQUENCES);
        ring->len[v] = place(w, NULL, sizeof(int64_t) * SEQUENCES);
        ring->new_rows[v] = place(w, NULL, sizeof(float) * SEQUENCES * KEY_HEADS * D);
    }
    must(w, heed_push_plan(w->device, &push, &ring->push, &w->why));
    reader_open(w, &ring->reader, sources, 2, &heads);
    ring->reader.kv[0] = ring->first;
    ring->reader.kv[1] = ring->last;
    ring->reader.slots[SLOT_WHERE - 1] = ring->head[0];
    ring->reader.slots[SLOT_LEN - 1] = ring->len[0];
    ring->reader.slots[SLOT_FIRST_LEN - 1] = ring->first_len;
}

static void put_lengths(struct world *w, heed_buf to, int n)
{
    int64_t len[SEQUENCES];

    for (int b = 0; b < SEQUENCES; b++)
        len[b] = n;
    put(w, to, len, sizeof len);
}

static void ring_append(struct world *w, struct ring *ring, const struct text *text)
{
    float row[SEQUENCES * KEY_HEADS * D];

    if (text->n <= SINKS) {
        put_plain(w, text, &ring->first, 0, text->n, SINKS);
        put_lengths(w, ring->first_len, text->n);
        return;
    }
    for (int v = 0; v < 2 && !w->failed; v++) {
        const heed_push_args args = { .size = sizeof args, .rows = v ? ring->last.v : ring->last.k,
                                      .head = ring->head[v], .len = ring->len[v],
                                      .x = ring->new_rows[v] };

        plain_rows(text, v ? VALUE : KEY, text->n - 1, text->n, 1, row);
        put(w, args.x, row, sizeof row);
        if (!w->failed)
            must(w, heed_push_run(ring->push, w->queue, &args, NULL, &w->why));
    }
}

/* ---- the same over plain caches, to compare with ---- */

struct plain {
    heed_kv_bufs kv[2];
    heed_buf len[2];
    int room[2];
    struct reader reader;
};

/* rooms: one of all tokens, or the first and the last ones. */
static void plain_open(struct world *w, struct plain *plain, bool rings)
{
    heed_source sources[2] = { rings ? first_source() : plain_source(MOST), plain_source(RING) };

    sources[1].pos0 = SINKS;
    plain->room[0] = rings ? SINKS : MOST;
    plain->room[1] = RING;
    reader_open(w, &plain->reader, sources, rings ? 2 : 1, NULL);
    for (int s = 0; s < 2; s++) {
        plain->kv[s] = plain->reader.kv[s] = place_plain(w, plain->room[s]);
        plain->len[s] = place(w, NULL, sizeof(int64_t) * SEQUENCES);
    }
    plain->reader.slots[SLOT_LEN - 1] = plain->len[rings ? 1 : 0];
    plain->reader.slots[SLOT_FIRST_LEN - 1] = plain->len[0];
}

static void plain_fill(struct world *w, struct plain *plain, const struct text *text, bool rings)
{
    const int first = rings && text->n > SINKS ? SINKS : text->n;
    const int last = rings && text->n - RING > SINKS ? text->n - RING : first;

    put_plain(w, text, &plain->kv[0], 0, first, plain->room[0]);
    put_lengths(w, plain->len[0], first);
    if (!rings)
        return;
    put_plain(w, text, &plain->kv[1], last, text->n, RING);
    put_lengths(w, plain->len[1], text->n - last);
}

/* ---- generation ---- */

static void queries(const struct text *text, float *q)
{
    for (int b = 0; b < SEQUENCES; b++)
        noise_row(QUERY, text->tokens[b][text->n - 1] + VOCABULARY * text->n, HEADS,
                  q + b * HEADS * D);
}

/* The same prompt for all, but for its last token. */
static int prompt_token(int b, int i)
{
    return i == PROMPT - 1 ? 7 * b + 3 : (i * 29 + i / 5) % VOCABULARY;
}

/* Generates with pages or with a ring; false: some step differed from the plain cache. */
static bool generate(struct world *w, struct text *text, bool rings)
{
    static float q[SEQUENCES * HEADS * D], o[SEQUENCES * HEADS * D], wanted[SEQUENCES * HEADS * D];
    struct paged paged = { 0 };
    struct ring ring = { 0 };
    struct plain plain = { 0 };
    struct reader *reader = rings ? &ring.reader : &paged.reader;
    bool same = true;

    if (rings)
        ring_open(w, &ring);
    else
        paged_open(w, &paged);
    plain_open(w, &plain, rings);
    for (text->n = 1; text->n <= PROMPT + STEPS && !w->failed; text->n++) {
        for (int b = 0; b < SEQUENCES; b++) {
            int *token = &text->tokens[b][text->n - 1];

            *token = text->n <= PROMPT ? prompt_token(b, text->n - 1)
                                       : next_token(o + b * HEADS * D, token);
        }
        if (rings)
            ring_append(w, &ring, text);
        else
            paged_append(w, &paged, text);
        if (text->n < PROMPT)
            continue;
        plain_fill(w, &plain, text, rings);
        queries(text, q);
        reader_step(w, reader, q, o);
        reader_step(w, &plain.reader, q, wanted);
        same = same && memcmp(o, wanted, sizeof o) == 0;
    }
    heed_plan_drop(paged.append);
    heed_plan_drop(ring.push);
    heed_plan_drop(reader->plan);
    heed_plan_drop(plain.reader.plan);
    return same && !w->failed;
}

static void show(const char *name, const struct text *text)
{
    for (int b = 0; b < SEQUENCES; b++) {
        printf("%-6s sequence %d:", name, b);
        for (int i = PROMPT; i < PROMPT + 16; i++)
            printf(" %d", text->tokens[b][i]);
        printf(" ...\n");
    }
}

static bool device_run(heed_device *device, struct text first[2], bool is_first)
{
    static struct text now[2];
    struct world w = { .device = device, .why = { .size = sizeof w.why } };
    bool good = true;

    must(&w, heed_queue_create(device, 0, &w.queue, &w.why));
    for (int rings = 0; rings < 2 && !w.failed; rings++) {
        const bool same = generate(&w, &now[rings], rings);
        const bool alike = is_first || memcmp(&now[rings], &first[rings], sizeof *now) == 0;

        if (is_first)
            show(rings ? "ring" : "pages", &now[rings]);
        printf("%-20s %-6s bits of a plain cache: %s; text of the first device: %s\n",
               heed_device_name(device), rings ? "ring" : "pages", same ? "yes" : "NO",
               alike ? "yes" : "NO");
        good = good && same && alike;
    }
    if (is_first)
        memcpy(first, now, sizeof now);
    while (w.n_bufs > 0)
        heed_buf_destroy(device, w.bufs[--w.n_bufs]);
    heed_queue_destroy(w.queue);
    return good && !w.failed;
}

int main(int argc, char **argv)
{
    static struct text first[2];
    heed_report why = { .size = sizeof why };
    heed_runtime *runtime = NULL;
    bool good = true;
    int ran = 0;

    if (heed_runtime_create(NULL, &runtime, &why) < 0) {
        fprintf(stderr, "%s\n", why.message);
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0; argc < 2 && i < heed_device_count(runtime); i++) {
        heed_device *device = heed_device_get(runtime, i);
        heed_device_props props = { .size = sizeof props };

        if (heed_device_info(device, &props) >= 0 && props.usable >= 0)
            good &= device_run(device, first, ran++ == 0);
    }
    for (int i = 1; i < argc; i++) {
        heed_device *device = NULL;

        if (heed_device_find(runtime, argv[i], &device, &why) >= 0) {
            good &= device_run(device, first, ran++ == 0);
        } else {
            fprintf(stderr, "%s: %s\n", argv[i], why.message);
            good = false;
        }
    }
    heed_runtime_destroy(runtime);
    return good && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
