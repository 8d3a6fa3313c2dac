/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The public functions of libheed-model, attacked: what each of them refuses, and that nothing is
 * written then.
 */
#include <heed/model.h>

#include "asking.h"

#include <math.h>

enum { VOCAB = 40, D = 16, N = 6, ROOM = 32, CANARY = 0x5a };

static struct {
    heed_runtime *runtime;
    heed_queue *queue, *other;
    heed_model *bart, *bert;
} world;

static const int32_t text[N] = { 0, 7, 9, 11, 5, 2 };
static const int32_t start[3] = { 2, 4, 6 };

static heed_queue *queue_of(const char *name)
{
    heed_device *device;
    heed_queue *queue;

    ck_assert_int_eq(heed_device_find(world.runtime, name, &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
    return queue;
}

static heed_model *open_model(const char *name)
{
    heed_report why = { .size = sizeof why };
    heed_model *model = NULL;

    ck_assert_msg(heed_model_open(world.queue, folder_of(name), NULL, &model, &why) == HEED_OK,
                  "%s: %s: %s", name, why.field, why.message);
    return model;
}

static void before(void)
{
    ck_assert_int_eq(heed_runtime_create(NULL, &world.runtime, NULL), HEED_OK);
    world.queue = queue_of("cpu");
    world.other = queue_of("reference");
    world.bart = open_model("bart");
    world.bert = open_model("bert");
}

static void after(void)
{
    heed_model_close(world.bart);
    heed_model_close(world.bert);
    heed_queue_destroy(world.queue);
    heed_queue_destroy(world.other);
    heed_runtime_destroy(world.runtime);
}

/* ---- what must happen ---- */

static void open_refused(const char *what, heed_status wanted, const char *name,
                         const heed_model_options *options, const char *field)
{
    heed_model *const none = (heed_model *)(void *)&world;
    heed_report why = asking();
    heed_model *out = none;

    refused(what, wanted, heed_model_open(world.queue, folder_of(name), options, &out, &why), &why,
            field);
    ck_assert_msg(out == none, "%s: out was written", what);
}

/* One call of generate. */
struct generation {
    const heed_model *model;
    heed_queue *queue;
    const int32_t *ids;
    int64_t n;
    const heed_generate_options *options;
    int64_t room;
};

static void generate_refused(const char *what, heed_status wanted, struct generation g,
                             const char *field)
{
    heed_report why = asking();
    int32_t out[ROOM], same[ROOM];
    int64_t n = -77;

    memset(out, CANARY, sizeof out);
    memset(same, CANARY, sizeof same);
    refused(what, wanted,
            heed_model_generate(g.model, g.queue, g.ids, g.n, g.options, out, g.room, &n, &why),
            &why, field);
    ck_assert_msg(n == -77 && memcmp(out, same, sizeof out) == 0, "%s: something was written",
                  what);
}

static struct generation usual(void)
{
    return (struct generation){ world.bart, world.queue, text, N, NULL, ROOM };
}

/* ---- pointers, sizes, flags ---- */

TEST(pointers)
{
    heed_model_props props = { .size = sizeof props };
    int32_t ids[ROOM];
    float x[N * VOCAB];
    heed_model *model = NULL;
    heed_report why = asking();
    int64_t n;

    refused("queue", HEED_E_NULL, heed_model_open(NULL, "x", NULL, &model, &why), &why, "queue");
    refused("folder", HEED_E_NULL, heed_model_open(world.queue, NULL, NULL, &model, &why), &why,
            "folder");
    refused("out", HEED_E_NULL, heed_model_open(world.queue, "x", NULL, NULL, &why), &why, "out");
    ck_assert_int_eq(heed_model_open(NULL, NULL, NULL, NULL, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_model_info(NULL, &props), HEED_E_NULL);
    ck_assert_int_eq(heed_model_info(world.bart, NULL), HEED_E_NULL);
    heed_model_close(NULL);

    refused("model", HEED_E_NULL, heed_model_encode(NULL, world.queue, text, N, x, &why), &why,
            "model");
    refused("queue", HEED_E_NULL, heed_model_encode(world.bart, NULL, text, N, x, &why), &why,
            "queue");
    refused("ids", HEED_E_NULL, heed_model_encode(world.bart, world.queue, NULL, N, x, &why), &why,
            "ids");
    refused("states", HEED_E_NULL, heed_model_encode(world.bart, world.queue, text, N, NULL, &why),
            &why, "out");
    refused("next", HEED_E_NULL,
            heed_model_logits(world.bart, world.queue, text, N, NULL, 3, x, &why), &why, "next");
    refused("logits", HEED_E_NULL,
            heed_model_logits(world.bart, world.queue, text, N, start, 3, NULL, &why), &why, "out");
    refused("ids", HEED_E_NULL,
            heed_model_generate(world.bart, world.queue, NULL, N, NULL, ids, ROOM, &n, &why), &why,
            "ids");
    refused("out", HEED_E_NULL,
            heed_model_generate(world.bart, world.queue, text, N, NULL, NULL, ROOM, &n, &why), &why,
            "out");
    refused("n_out", HEED_E_NULL,
            heed_model_generate(world.bart, world.queue, text, N, NULL, ids, ROOM, NULL, &why),
            &why, "n_out");
    /* Without a report the status is the same. */
    ck_assert_int_eq(heed_model_encode(world.bart, world.queue, text, 0, x, NULL), HEED_E_VALUE);
}

TEST(sizes)
{
    struct {
        heed_model_options known;
        unsigned char newer[8];
    } open = { .known.size = sizeof open };
    struct {
        heed_generate_options known;
        unsigned char newer[8];
    } run = { .known = { .size = sizeof run, .max_length = 4 } };
    struct generation g = usual();
    int32_t ids[ROOM];
    heed_model *model;
    int64_t n;

    ck_assert_int_eq(heed_model_open(world.queue, folder_of("tiny"), &open.known, &model, NULL),
                     HEED_OK);
    heed_model_close(model);
    open.newer[7] = 1;
    open_refused("newer", HEED_E_NEWER, "tiny", &open.known, "options.size");
    open.known.size = sizeof open.known - 1;
    open_refused("short", HEED_E_SIZE, "tiny", &open.known, "options.size");
    open.known.size = 0;
    open_refused("no size", HEED_E_SIZE, "tiny", &open.known, "options.size");

    ck_assert_int_eq(heed_model_generate(world.bart, world.queue, text, N, &run.known, ids, ROOM,
                                         &n, NULL), HEED_OK);
    g.options = &run.known;
    run.newer[0] = 1;
    generate_refused("newer", HEED_E_NEWER, g, "options.size");
    run.known.size = sizeof run.known - 4;
    generate_refused("short", HEED_E_SIZE, g, "options.size");
}

TEST(what_a_model_is)
{
    unsigned char room[sizeof(heed_model_props) + 16];
    heed_model_props *const props = (heed_model_props *)(void *)room;

    memset(room, CANARY, sizeof room);
    props->size = sizeof *props + 8;
    ck_assert_int_eq(heed_model_info(world.bart, props), HEED_OK);
    ck_assert_int_eq(props->decodes, 1);
    ck_assert_int_eq(props->layers, 2);
    ck_assert_int_eq(props->channels, D);
    ck_assert_int_eq(props->vocabulary, VOCAB);
    ck_assert_int_eq(props->positions, 64);
    ck_assert_int_eq(props->start, 2);
    ck_assert_str_eq(props->family, "bart");
    for (size_t i = sizeof *props; i < sizeof room; i++)
        ck_assert_int_eq(room[i], CANARY);
    props->size = sizeof *props - 1;
    ck_assert_int_eq(heed_model_info(world.bart, props), HEED_E_SIZE);
    props->size = sizeof *props;
    ck_assert_int_eq(heed_model_info(world.bert, props), HEED_OK);
    ck_assert_int_eq(props->decodes, 0);
    ck_assert_int_eq(props->decoder_positions, 0);
    ck_assert_int_eq(props->start, -1);
}

TEST(options)
{
    static const struct {
        const char *attention;
        heed_status status;
    } rows[] = {
        { "none", HEED_E_UNSUPPORTED }, { "", HEED_E_UNSUPPORTED }, { "Full", HEED_E_UNSUPPORTED },
        { "longformer:1", HEED_E_VALUE }, { "longformer:-4", HEED_E_VALUE },
        { "longformer:4:", HEED_E_VALUE }, { "longformer:4:x", HEED_E_VALUE },
        { "longformer:4:1:1", HEED_E_VALUE }, { "longformer:99999999999999999999", HEED_E_VALUE },
        { "longformer:4:-1", HEED_E_VALUE }, { "longformers", HEED_E_UNSUPPORTED },
        { "lsg:norm:0", HEED_E_VALUE }, { "lsg:norm:8:8:3", HEED_E_VALUE },
        { "lsg:often", HEED_E_VALUE }, { "block:7", HEED_E_VALUE }, { "bigbird:0", HEED_E_VALUE },
    };
    static const uint32_t types[] = { HEED_I8, HEED_I32, 999 };
    heed_model_options o = { .size = sizeof o, .flags = 1 };

    open_refused("flags", HEED_E_FLAG, "tiny", &o, "options");
    o = (heed_model_options){ .size = sizeof o, .reserved = 1 };
    open_refused("reserved", HEED_E_VALUE, "tiny", &o, "options");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        o = (heed_model_options){ .size = sizeof o, .weights = types[i] };
        open_refused("weights", HEED_E_VALUE, "tiny", &o, "options.weights");
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        o = (heed_model_options){ .size = sizeof o, .attention = rows[i].attention };
        open_refused(rows[i].attention, rows[i].status, "tiny", &o, "attention");
    }
    open_refused("no folder", HEED_E_NOT_FOUND, "nowhere", NULL, "config.json");
}

/* ---- texts ---- */

TEST(texts)
{
    static const int32_t over[N] = { 0, 7, VOCAB, 11, 5, 2 }, below[N] = { 0, 7, -1, 11, 5, 2 };
    static const int64_t lengths[] = { 0, -1, INT64_MIN, 65, INT64_MAX };
    static int32_t many[66];
    static float x[66 * D], same[66 * D];
    heed_report why = asking();

    memset(x, CANARY, sizeof x);
    memcpy(same, x, sizeof x);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        why = asking();
        refused("n", HEED_E_VALUE,
                heed_model_encode(world.bart, world.queue, many, lengths[i], x, &why), &why, "n");
    }
    refused("ids", HEED_E_VALUE, heed_model_encode(world.bart, world.queue, over, N, x, &why), &why,
            "ids");
    ck_assert(why.wanted == VOCAB && why.got == VOCAB);
    refused("ids", HEED_E_VALUE, heed_model_encode(world.bart, world.queue, below, N, x, &why),
            &why, "ids");
    refused("next", HEED_E_VALUE,
            heed_model_logits(world.bart, world.queue, text, N, over, 3, x, &why), &why, "next");
    refused("m", HEED_E_VALUE,
            heed_model_logits(world.bart, world.queue, text, N, start, 0, x, &why), &why, "m");
    refused("m", HEED_E_VALUE,
            heed_model_logits(world.bart, world.queue, text, N, start, INT64_MAX, x, &why), &why,
            "m");
    ck_assert(memcmp(x, same, sizeof x) == 0);
    ck_assert_int_eq(heed_model_encode(world.bart, world.queue, many, 64, x, &why), HEED_OK);
    ck_assert(why.status == HEED_OK && !*why.field && !*why.message);
}

TEST(devices_and_families)
{
    struct generation g = usual();
    heed_report why = asking();
    float x[N * VOCAB];

    refused("queue", HEED_E_MISMATCH, heed_model_encode(world.bart, world.other, text, N, x, &why),
            &why, "queue");
    g.queue = world.other;
    generate_refused("queue", HEED_E_MISMATCH, g, "queue");
    g = usual();
    g.model = world.bert;
    generate_refused("an encoder", HEED_E_UNSUPPORTED, g, "model");
    refused("an encoder", HEED_E_UNSUPPORTED,
            heed_model_logits(world.bert, world.queue, text, N, start, 3, x, &why), &why, "model");
}

/* ---- generate ---- */

TEST(generations)
{
    static const heed_generate_options bad[] = {
        { .size = sizeof *bad, .flags = 8 },
        { .size = sizeof *bad, .stopping = HEED_STOP_NEVER + 1 },
        { .size = sizeof *bad, .beams = 1025 },
        { .size = sizeof *bad, .max_length = 1 },
        { .size = sizeof *bad, .max_length = -5 },
        { .size = sizeof *bad, .min_length = -1 },
        { .size = sizeof *bad, .no_repeat = -1 },
        { .size = sizeof *bad, .length_penalty = NAN },
        { .size = sizeof *bad, .length_penalty = INFINITY },
        { .size = sizeof *bad, .length_penalty = -1e9 },
    };
    static const struct {
        heed_status status;
        const char *field;
    } wanted[] = { { HEED_E_FLAG, "options.flags" }, { HEED_E_VALUE, "options.stopping" },
                   { HEED_E_VALUE, "beams" }, { HEED_E_VALUE, "max_length" },
                   { HEED_E_VALUE, "max_length" }, { HEED_E_VALUE, "min_length" },
                   { HEED_E_VALUE, "no_repeat" }, { HEED_E_VALUE, "length_penalty" },
                   { HEED_E_VALUE, "length_penalty" }, { HEED_E_VALUE, "length_penalty" } };
    static const int64_t rooms[] = { 1, 0, -1, INT64_MIN };
    static const heed_generate_options far = { .size = sizeof far, .max_length = 65 };
    static const heed_generate_options least = { .size = sizeof least, .max_length = 20,
                                                 .beams = 1024 };
    struct generation g = usual();
    heed_report why = asking();
    int32_t ids[80];
    int64_t n;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        g.options = &bad[i];
        generate_refused(wanted[i].field, wanted[i].status, g, wanted[i].field);
    }
    g = usual();
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        g.room = rooms[i];
        generate_refused("room", HEED_E_VALUE, g, "max_length");
    }
    refused("beyond the positions", HEED_E_VALUE,
            heed_model_generate(world.bart, world.queue, text, N, &far, ids, 80, &n, &why), &why,
            "max_length");
    /* room cuts the longest sequence; more beams than tokens in the vocabulary are beams. */
    ck_assert_int_eq(heed_model_generate(world.bart, world.queue, text, N, NULL, ids, 2, &n, &why),
                     HEED_OK);
    ck_assert_int_eq(n, 2);
    ck_assert_msg(heed_model_generate(world.bart, world.queue, text, N, &least, ids, 3, &n, &why) ==
                      HEED_OK, "%s", why.message);
    ck_assert(n >= 2 && n <= 3 && ids[0] == 2);
}

/* Weights of a sequence are refused before it is generated. */
TEST(what_was_looked_at)
{
    static const int32_t groups[N] = { 0, 0, 1, 1, -1, 2 }, above[N] = { 0, 3, 0, 0, 0, 0 },
                         below[N] = { 0, 0, 0, 0, 0, -2 };
    static const struct {
        const int32_t *groups;
        int64_t n;
        heed_status status;
        const char *field;
    } rows[] = { { NULL, 3, HEED_E_NULL, "options.groups" },
                 { groups, 0, HEED_E_VALUE, "options.n_groups" },
                 { groups, -1, HEED_E_VALUE, "options.n_groups" },
                 { groups, (1 << 20) + 1, HEED_E_VALUE, "options.n_groups" },
                 { groups, 2, HEED_E_VALUE, "options.groups" },
                 { above, 3, HEED_E_VALUE, "options.groups" },
                 { below, 3, HEED_E_VALUE, "options.groups" } };
    float weights[ROOM * 3], same[ROOM * 3];
    const heed_generate_options good = { .size = sizeof good, .max_length = 5, .weights = weights,
                                         .groups = groups, .n_groups = 3 };
    struct generation g = usual();
    int32_t ids[ROOM];
    int64_t n;

    memset(weights, CANARY, sizeof weights);
    memcpy(same, weights, sizeof same);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const heed_generate_options o = { .size = sizeof o, .weights = weights,
                                          .groups = rows[i].groups, .n_groups = rows[i].n };

        g.options = &o;
        generate_refused(rows[i].field, rows[i].status, g, rows[i].field);
        ck_assert(memcmp(weights, same, sizeof same) == 0);
    }
    ck_assert_int_eq(heed_model_generate(world.bart, world.queue, text, N, &good, ids, ROOM, &n,
                                         NULL), HEED_OK);
    for (int64_t i = 0; i < n; i++) {       /* one token is in no group */
        const float sum = weights[3 * i] + weights[3 * i + 1] + weights[3 * i + 2];

        ck_assert(i ? sum > 0 && sum < 1 : sum == 0);
    }
    ck_assert_int_eq(memcmp(weights + 3 * n, same, sizeof same - 12 * (size_t)n), 0);
}

/* ---- vectors ---- */

TEST(vectors_of_texts)
{
    static const char *const lines[2] = { "a", NULL };
    static const uint64_t bytes[2] = { 1, 0 }, wrong[2] = { 1, 1 };
    static const char *const fields[9] = { "model", "queue", "texts", "bytes", "vectors", "texts",
                                           "queue", "n", "tokenizer.json" };
    heed_model *const model = open_model("bytes");
    float x[2 * D], same[2 * D];
    heed_report why = asking();

    memset(x, CANARY, sizeof x);
    memcpy(same, x, sizeof same);
    for (size_t i = 0; i < 9; i++) {
        static const heed_status last[3] = { HEED_E_MISMATCH, HEED_E_VALUE, HEED_E_NOT_FOUND };
        const heed_status wanted = i < 6 ? HEED_E_NULL : last[i - 6];

        why = asking();
        refused(fields[i], wanted,
                heed_model_vectors(i == 0 ? NULL : i == 8 ? world.bert : model,
                                   i == 1 ? NULL : i == 6 ? world.other : world.queue,
                                   i == 2 ? NULL : lines, i == 3 ? NULL : i == 5 ? wrong : bytes,
                                   i == 7 ? -1 : 2, i == 4 ? NULL : x, &why), &why,
                fields[i]);
    }
    ck_assert_int_eq(heed_model_vectors(model, world.queue, NULL, NULL, 0, NULL, &why), HEED_OK);
    ck_assert(memcmp(x, same, sizeof same) == 0);
    ck_assert_int_eq(heed_model_vectors(model, world.queue, lines, bytes, 2, x, &why), HEED_OK);
    heed_model_close(model);
}

struct told {
    int calls, stop_at;
    int64_t last, most;
};

static int tell(void *context, int64_t done, int64_t most)
{
    struct told *const told = context;

    ck_assert_int_gt(done, told->last);
    told->last = done;
    told->most = most;
    return ++told->calls != told->stop_at;
}

TEST(progress_stops)
{
    for (uint32_t beams = 1; beams <= 3; beams += 2) {
        struct told told = { 0 }, stopped = { .stop_at = 4 };
        heed_generate_options o = { .size = sizeof o, .beams = beams, .max_length = 12,
                                    .min_length = 12, .progress = tell, .context = &told };
        int32_t whole[ROOM], part[ROOM];
        int64_t n, m;

        ck_assert_int_eq(heed_model_generate(world.bart, world.queue, text, N, &o, whole, ROOM, &n,
                                             NULL), HEED_OK);
        ck_assert_int_eq(n, 12);
        ck_assert_int_eq(told.calls, 11);
        ck_assert_int_eq(told.most, 12);
        o.context = &stopped;
        ck_assert_int_eq(heed_model_generate(world.bart, world.queue, text, N, &o, part, ROOM, &m,
                                             NULL), HEED_OK);
        ck_assert_int_eq(stopped.calls, 4);
        ck_assert_int_eq(m, 5);
        if (beams == 1)
            ck_assert(memcmp(whole, part, 5 * sizeof *part) == 0);
    }
}

static void count_bytes(void *context, uint64_t done, uint64_t all)
{
    uint64_t *const last = context;

    ck_assert(done > *last && done <= all);
    *last = done;
}

TEST(open_tells_how_far_it_is)
{
    uint64_t done = 0;
    heed_model_options o = { .size = sizeof o, .progress = count_bytes, .context = &done };
    heed_model_props props = { .size = sizeof props };
    heed_model *model;

    ck_assert_int_eq(heed_model_open(world.queue, folder_of("shards"), &o, &model, NULL), HEED_OK);
    ck_assert_int_eq(heed_model_info(model, &props), HEED_OK);
    ck_assert_uint_eq(done, props.bytes);
    heed_model_close(model);
}

/* ---- twice ---- */

TEST(two_models_in_a_row_are_the_same)
{
    heed_model *const again = open_model("bart");
    float x[N * D], y[N * D];

    ck_assert_int_eq(heed_model_encode(world.bart, world.queue, text, N, x, NULL), HEED_OK);
    ck_assert_int_eq(heed_model_encode(again, world.queue, text, N, y, NULL), HEED_OK);
    ck_assert(memcmp(x, y, sizeof x) == 0);
    heed_model_close(again);
}

int main(void)
{
    return suite_run("model", 0, before, after);
}
