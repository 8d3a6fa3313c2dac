/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Retrieved keys (Bertsch et al. 2023, Unlimiformer; Wu et al. 2022, Memorizing Transformers): the
 * keys that select finds are the k best of a plain search, and attention to them and to a text is
 * one softmax. Windows in which long documents are encoded keep every token once.
 */
#include "chain.h"

WORLD_OPERATION(select)
WORLD_OPERATION(copy)

/* ---- the builder: any list ---- */

enum { LIST = 7 };

struct lists {
    int64_t window;
    int32_t *entries;                   /* [B][H][n_q][LIST] */
};

/* As often as the list of the row names the key; of the text what is not after the row. */
static int64_t retrieval_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                               int64_t j)
{
    const struct lists *l = w->p;
    const int64_t length = w->set[0].has_len ? w->set[0].len[b] : w->set[0].n;
    const int64_t place = w->n_q == w->set[0].n ? i : length - w->n_q + i;
    int64_t times = 0;

    if (set == 0)
        return j <= place && (l->window == 0 || j >= place - l->window);
    for (int64_t x = 0; x < LIST; x++)
        times += l->entries[((b * w->heads + h) * w->n_q + i) * LIST + x] == j;
    return times;
}

static void retrieval_build(struct world_of *w)
{
    const struct lists *l = w->p;
    heed_retrieval_desc desc = {
        .size = sizeof(desc), .q = w->q.t, .o = w->o.t, .memory = world_keys(w, 1),
        .list = world_slot(HEED_I32, 4, w->batch, w->heads, w->n_q, LIST, NULL),
        .window = l->window,
    };

    if (w->set[0].n > 0)
        desc.text = world_keys(w, 0);
    w->slot_buf[HEED_MECHANISM_LIST - 1].handle = l->entries;
    ck_assert_int_eq(heed_retrieval(&desc, &w->m, &world.why), HEED_OK);
}

/* Empty places, repeats, keys that are masked or beyond the memory's length, and a row whose list
 * is empty. */
static void lists_prove(int64_t n_q, int64_t n, int64_t window)
{
    struct lists l = { .window = window };
    struct world_of w = {
        .name = n ? "retrieval beside a text" : "retrieval", .batch = 2, .heads = 4, .kv_heads = 2,
        .n_q = n_q, .d = 8, .d_v = 5, .cross = n_q != n, .n_sets = 2,
        .set = { { .n = n, .has_len = n > 0, .has_mask = n > 0 },
                 { .n = 90, .has_len = true, .has_mask = true } },
        .build = retrieval_build, .times = retrieval_times, .p = &l,
    };
    const int64_t entries = w.batch * w.heads * n_q * LIST;

    l.entries = malloc((size_t)entries * sizeof(*l.entries));
    ck_assert(l.entries != NULL);
    world.state = 7;
    for (int64_t x = 0; x < entries; x++)
        l.entries[x] = x / LIST == 3 || world_range(0, 9) == 0 ? -1 : (int32_t)world_range(0, 89);
    mechanism_prove(&w);
    free(l.entries);
}

TEST(what_lists_name_is_seen)
{
    lists_prove(13, 0, 0);
    lists_prove(30, 30, 0);
    lists_prove(30, 30, 6);
    lists_prove(3, 30, 6);          /* decoding: the last rows of a text */
}

/* ---- select, then attention ---- */

enum { B = 2, H = 4, G = 2, N_Q = 9, N = 300, K = 12, D = 8, D_V = 6, TEXT = 9 };

struct search {
    bool text;
    heed_array q, k, v, mask, len, list, o, text_k, text_v;
};

static void search_run(struct search *s)
{
    struct select_call find = select_call();
    heed_mechanism m = { .size = sizeof(m) };
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    const heed_kv_bufs pairs[2] = { { s->text_k.buf, s->text_v.buf }, { s->k.buf, s->v.buf } };
    heed_retrieval_desc desc = {
        .size = sizeof(desc), .q = s->q.t, .o = s->o.t, .list = { s->list.t, NULL },
        .memory = { s->k.t, s->v.t, { s->len.t, NULL }, { s->mask.t, NULL } },
    };

    find.desc.kind = HEED_SELECT_TOPK;
    find.desc.count = K;
    GIVE(&find, q, s->q);
    GIVE(&find, x, s->k);
    GIVE(&find, mask, s->mask);
    GIVE(&find, len, s->len);
    GIVE(&find, y, s->list);
    select_run(&find);
    if (s->text)
        desc.text = (heed_keys){ .k = s->text_k.t, .v = s->text_v.t };
    slots[HEED_MECHANISM_LIST - 1] = s->list.buf;
    slots[HEED_MECHANISM_LEN_2 - 1] = s->len.buf;
    slots[HEED_MECHANISM_MASK_2 - 1] = s->mask.buf;
    ck_assert_int_eq(heed_retrieval(&desc, &m, &world.why), HEED_OK);
    chain_attend(&m, &s->q, &s->o, pairs, slots);
}

/* Which of the memory's keys row i of head h retrieves: the k best by their scores, the lower index
 * first where two are equal. All numbers are small integers: the scores are exact. */
struct found {
    const struct search *s;
    bool best[B][H][N_Q][N];
};

static double score(const struct search *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    double sum = 0;

    for (int64_t t = 0; t < D; t++)
        sum += (double)world_row(&s->q, b, h, i)[t] *
               (double)world_row(&s->k, b, h / (H / G), j)[t];
    return sum;
}

static bool stored(const struct search *s, int64_t b, int64_t j)
{
    return j < ((int32_t *)s->len.buf.handle)[b] && ((uint8_t *)s->mask.buf.handle)[b * N + j];
}

static void best_find(struct found *f, int64_t b, int64_t h, int64_t i)
{
    for (int x = 0; x < K; x++) {
        int64_t best = -1;

        for (int64_t j = 0; j < N; j++)
            if (stored(f->s, b, j) && !f->best[b][h][i][j] &&
                (best < 0 || score(f->s, b, h, i, j) > score(f->s, b, h, i, best)))
                best = j;
        if (best >= 0)
            f->best[b][h][i][best] = true;
    }
}

static bool found_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct found *f = p;

    return set == 0 ? f->best[b][h][i][j] : j <= i;
}

/* Keys of the memory have fewer heads: each is repeated. */
static struct approx of_heads(const heed_array *a)
{
    const struct approx from = approx_of(a);
    struct approx to = approx_new(B, H, from.n, from.d);

    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            memcpy(to.x + approx_at(&to, b, h, 0), from.x + approx_at(&from, b, h / (H / G), 0),
                   (size_t)(from.n * from.d) * sizeof(double));
    return to;
}

static void search_judge(const struct search *s)
{
    static struct found f;
    const struct approx q = approx_of(&s->q);
    const struct approx_keys sets[2] = { { of_heads(&s->k), of_heads(&s->v) },
                                         { of_heads(&s->text_k), of_heads(&s->text_v) } };
    struct approx o;

    memset(&f, 0, sizeof(f));
    f.s = s;
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t i = 0; i < N_Q; i++)
                best_find(&f, b, h, i);
    o = approx_attend(&q, sets, s->text ? 2 : 1, found_sees, &f);
    approx_judge(&s->o, &o, 1e-3, s->text ? "Memorizing Transformers" : "Unlimiformer");
}

static void integers(const heed_array *a, int64_t most)
{
    for (int64_t i = 0; i < world_count(a); i++)
        world_f32(a)[i] = (float)world_range(-most, most);
}

/* The second item's memory has fewer keys than are asked for. */
static void search_new(struct search *s)
{
    s->q = world_array(HEED_F32, B, H, N_Q, D, -1);
    s->k = world_array(HEED_F32, B, G, N, D, -1);
    s->v = world_floats(B, G, N, D_V);
    s->text_k = world_floats(B, G, TEXT, D);
    s->text_v = world_floats(B, G, TEXT, D_V);
    integers(&s->q, 1);
    integers(&s->k, 3);
    s->mask = world_array(HEED_U8, B, 1, N, -1, -1);
    s->len = world_array(HEED_I32, B, -1, -1, -1, -1);
    s->list = world_array(HEED_I32, B, H, N_Q, K, -1);
    s->o = world_array(HEED_F32, B, H, N_Q, D_V, -1);
    for (int64_t j = 0; j < B * N; j++)
        ((uint8_t *)s->mask.buf.handle)[j] = world_range(0, 4) > 0;
    ((int32_t *)s->len.buf.handle)[0] = N;
    ((int32_t *)s->len.buf.handle)[1] = K - 2;
}

TEST(the_best_keys_are_attended)
{
    for (int x = 0; x < 2; x++) {
        struct search s = { .text = x == 1 };

        world_open();
        search_new(&s);
        search_run(&s);
        search_judge(&s);
        world_close();
    }
}

/* ---- windows ---- */

enum { MOST_WINDOWS = 400 };

/* Every token is kept once, with `margin` of context wherever the document has it; windows follow
 * one another at one stride, the last one excepted. */
static void windows_judge(int64_t n, int64_t length, int64_t overlap)
{
    static heed_window w[MOST_WINDOWS];
    const int64_t margin = overlap / 2;
    int64_t count = -1, again = -1, next = 0;

    ck_assert_int_eq(heed_window_plan(n, length, overlap, NULL, 0, &count), HEED_OK);
    ck_assert_int_le(count, MOST_WINDOWS);
    memset(w, 0x5a, sizeof(w));
    ck_assert_int_eq(heed_window_plan(n, length, overlap, w, count, &again), HEED_OK);
    ck_assert_int_eq(again, count);
    for (int64_t t = 0; t < count; t++) {
        ck_assert(w[t].begin >= 0 && w[t].begin <= w[t].keep && w[t].keep < w[t].keep_end &&
                  w[t].keep_end <= w[t].end && w[t].end <= n);
        ck_assert_int_eq(w[t].end - w[t].begin, n < length ? n : length);
        ck_assert_int_eq(w[t].keep, next);
        ck_assert(w[t].begin == 0 || w[t].keep - w[t].begin >= margin);
        ck_assert(w[t].end == n || w[t].end - w[t].keep_end == margin);
        ck_assert(t == count - 1 || w[t].begin == t * (length - 2 * margin));
        next = w[t].keep_end;
    }
    ck_assert_int_eq(next, n);
    /* one window fewer would not reach the end */
    ck_assert(count < 2 || w[count - 2].end < n);
    ck_assert_int_eq(((unsigned char *)w)[(size_t)count * sizeof(w[0])], 0x5a);
}

TEST(windows_keep_every_token_once)
{
    for (int64_t n = 0; n < 60; n++)
        for (int64_t length = 1; length < 20; length++)
            for (int64_t overlap = 0; overlap < length; overlap++)
                windows_judge(n, length, overlap);
    windows_judge(65537, 1024, 512);
}

/* 40 tokens in windows of 16 that share 8, written out by hand after the paper's figure: a quarter
 * of a window is context on either side. */
TEST(windows_by_hand)
{
    static const heed_window want[4] = {
        { 0, 16, 0, 12 }, { 8, 24, 12, 20 }, { 16, 32, 20, 28 }, { 24, 40, 28, 40 }
    };
    static const heed_window odd[2] = { { 0, 16, 0, 12 }, { 1, 17, 12, 17 } };
    heed_window w[4];
    int64_t count = 0;

    ck_assert_int_eq(heed_window_plan(40, 16, 8, w, 4, &count), HEED_OK);
    ck_assert_int_eq(count, 4);
    ck_assert_int_eq(memcmp(w, want, sizeof(want)), 0);
    ck_assert_int_eq(heed_window_plan(17, 16, 9, w, 4, &count), HEED_OK);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(memcmp(w, odd, sizeof(odd)), 0);
}

TEST(windows_of_the_longest_document)
{
    int64_t count = 0;

    ck_assert_int_eq(heed_window_plan(INT64_MAX, 1, 0, NULL, 0, &count), HEED_OK);
    ck_assert_int_eq(count, INT64_MAX);
    ck_assert_int_eq(heed_window_plan(INT64_MAX, INT64_MAX, INT64_MAX - 1, NULL, 0, &count),
                     HEED_OK);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(heed_window_plan(INT64_MAX, INT64_MAX - 1, 0, NULL, 0, &count), HEED_OK);
    ck_assert_int_eq(count, 2);
}

TEST(windows_out_of_range)
{
    static const struct {
        int64_t n, length, overlap, room;
    } wrong[] = {
        { -1, 16, 8, 4 }, { INT64_MIN, 16, 8, 4 }, { 40, 0, 0, 4 }, { 40, -16, 8, 4 },
        { 40, 16, -1, 4 }, { 40, 16, 16, 4 }, { 40, 16, INT64_MAX, 4 }, { 40, 16, 8, -1 },
        { 40, 16, 8, 3 }, { INT64_MAX, 1, 0, 4 },
    };
    heed_window w[4], before[4];
    int64_t count = 77;

    memset(w, 0x5a, sizeof(w));
    memcpy(before, w, sizeof(w));
    for (size_t x = 0; x < sizeof(wrong) / sizeof(wrong[0]); x++)
        ck_assert_int_eq(heed_window_plan(wrong[x].n, wrong[x].length, wrong[x].overlap, w,
                                          wrong[x].room, &count),
                         HEED_E_VALUE);
    ck_assert_int_eq(heed_window_plan(40, 16, 8, w, 4, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_window_plan(40, 16, 8, NULL, 4, &count), HEED_E_NULL);
    ck_assert_int_eq(count, 77);
    ck_assert_int_eq(memcmp(w, before, sizeof(w)), 0);
}

/* Windows are the items of a batch; the rows that each of them keeps, put one after another by
 * copy, are the document. */
TEST(kept_rows_are_the_document)
{
    enum { LENGTH = 16, TOKENS = 43, WINDOWS = 5 };
    heed_window w[WINDOWS];
    int64_t count = 0;
    heed_array document, windows, back, from, kept;
    struct copy_call call;

    world_open();
    ck_assert_int_eq(heed_window_plan(TOKENS, LENGTH, 8, w, WINDOWS, &count), HEED_OK);
    ck_assert_int_eq(count, WINDOWS);
    document = world_floats(1, 1, TOKENS, 3);
    windows = world_array(HEED_F32, 1, 1, WINDOWS * LENGTH, 3, -1);
    back = world_array(HEED_F32, 1, 1, TOKENS, 3, -1);
    from = world_array(HEED_I32, WINDOWS * LENGTH, -1, -1, -1, -1);
    kept = world_array(HEED_I32, TOKENS, -1, -1, -1, -1);
    for (int64_t t = 0; t < count; t++) {
        for (int64_t i = 0; i < LENGTH; i++)
            ((int32_t *)from.buf.handle)[t * LENGTH + i] = (int32_t)(w[t].begin + i);
        for (int64_t i = w[t].keep; i < w[t].keep_end; i++)
            ((int32_t *)kept.buf.handle)[i] = (int32_t)(t * LENGTH + i - w[t].begin);
    }
    call = copy_call();
    GIVE(&call, x, document);
    GIVE(&call, from, from);
    GIVE(&call, y, windows);
    copy_run(&call);
    GIVE(&call, x, windows);
    GIVE(&call, from, kept);
    GIVE(&call, y, back);
    copy_run(&call);
    world_same(&back, &document, "the document");
}

/* ---- what the builder refuses ---- */

BUILDER(heed_retrieval)

TEST(lists_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_retrieval_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_retrieval_desc, list, 0, HEED_E_NULL, "list", 0, 0),
        FAULT(heed_retrieval_desc, memory.k, 0, HEED_E_NULL, "memory.k", 0, 0),
        FAULT(heed_retrieval_desc, text.v, 0, HEED_E_NULL, "text.v", 0, 0),
        FAULT(heed_retrieval_desc, q.shape[2], 21, HEED_E_SHAPE, "text.k", 21, 20),
        FAULT(heed_retrieval_desc, window, -1, HEED_E_VALUE, "window", 0, -1),
        FAULT(heed_retrieval_desc, window, INT64_MAX, HEED_E_VALUE, "window", INT64_C(1) << 40,
              INT64_MAX),
        FAULT(heed_retrieval_desc, text.k, 0, HEED_E_VALUE, "window", 0, 5),
    };
    const heed_retrieval_desc right = {
        .size = sizeof(right), .q = small_tensor(20), .o = small_tensor(20),
        .text = small_keys(20), .memory = small_keys(50),
        .list = world_slot(HEED_I32, 4, 1, 2, 20, 3, NULL), .window = 5,
    };

    FAULTS_REFUSED(heed_retrieval_of, right, faults);
}

int main(void)
{
    return suite_run("retrieval", 240, NULL, world_close);
}
