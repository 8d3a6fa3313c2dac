/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memories of a document's segments: what is refused and what that leaves, requests of memory that
 * fail, and that nothing grows with the document. What they compute: segments.py.
 */
#include "asking.h"
#include "ledger.h"

enum { CHANNELS = 16, N = 9, SEGMENTS = 40 };

static const int32_t begin[N] = { 0, 5, 7, 9, 11, 8, 30, 31, 2 };
static const int32_t next[N] = { 0, 12, 13, 14, 5, 20, 21, 22, 2 };

static struct ledger ledger;
static heed_runtime *runtime;
static heed_queue *queue;

static void before(void)
{
    const heed_allocator allocator = ledger_allocator(&ledger);
    const heed_runtime_desc desc = { .size = sizeof desc, .allocator = &allocator };
    heed_device *device;

    ck_assert_int_eq(heed_runtime_create(&desc, &runtime, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(runtime, "cpu", &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
}

static void after(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
}

static heed_model *model_of(const char *name)
{
    heed_model *model = NULL;
    heed_report why = asking();

    ck_assert_msg(heed_model_open(queue, folder_of(name), NULL, &model, &why) == HEED_OK,
                  "%s: %s", why.field, why.message);
    return model;
}

static heed_model_memory *memory_of(const heed_model *model, uint32_t kind)
{
    const heed_model_memory_options options = { .size = sizeof options, .kind = kind, .rows = 8 };
    heed_model_memory *memory = NULL;

    ck_assert_int_eq(heed_model_memory_create(model, queue, &options, &memory, NULL), HEED_OK);
    return memory;
}

static void read_segment(const heed_model *model, heed_model_memory *memory, const int32_t *ids,
                         float *states)
{
    heed_report why = asking();

    ck_assert_msg(heed_model_encode_with(model, queue, memory, ids, N, states, &why) == HEED_OK,
                  "%s: %s", why.field, why.message);
}

/* ---- what is refused ---- */

TEST(options_out_of_range)
{
    static const struct {
        heed_model_memory_options options;
        heed_status status;
        const char *field;
    } wrong[] = {
        { { .size = 8 }, HEED_E_SIZE, "options.size" },
        { { .flags = 1 }, HEED_E_FLAG, "options.flags" },
        { { .reserved = 1 }, HEED_E_VALUE, "options.reserved" },
        { { .kind = 3 }, HEED_E_VALUE, "options.kind" },
        { { .rows = 1 }, HEED_E_VALUE, "options.rows" },
        { { .rows = -4 }, HEED_E_VALUE, "options.rows" },
        { { .rows = (1 << 20) + 1 }, HEED_E_VALUE, "options.rows" },
        { { .ratio = -1 }, HEED_E_VALUE, "options.ratio" },
        { { .ratio = INT64_MAX }, HEED_E_VALUE, "options.ratio" },
        { { .kind = HEED_MODEL_ATTENTIVE, .ratio = 5 }, HEED_E_VALUE, "options.ratio" },
        { { .kind = HEED_MODEL_SALIENT, .ratio = 1 }, HEED_E_VALUE, "options.ratio" },
        { { .layers = 3 }, HEED_E_VALUE, "options.layers" },
        { { .layers = -1 }, HEED_E_VALUE, "options.layers" },
    };
    heed_model *const model = model_of("bart");
    heed_model_memory *memory = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        heed_model_memory_options options = wrong[i].options;
        heed_report why = asking();

        options.size = options.size ? options.size : sizeof options;
        refused(wrong[i].field, wrong[i].status,
                heed_model_memory_create(model, queue, &options, &memory, &why), &why,
                wrong[i].field);
        ck_assert_ptr_null(memory);
    }
    heed_model_close(model);
}

TEST(encoders_that_do_not_see_all_keys_alike)
{
    static const char *const names[] = { "led", "longformer", "t5", "longt5", "pegasus_x",
                                         "big_bird", "bigbird_pegasus", "deberta-v2" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_model *const model = model_of(names[i]);
        heed_model_memory *memory = NULL;
        heed_report why = asking();

        refused(names[i], HEED_E_UNSUPPORTED,
                heed_model_memory_create(model, queue, NULL, &memory, &why), &why, "model");
        ck_assert_ptr_null(memory);
        heed_model_close(model);
    }
}

TEST(what_is_not_there_or_not_its_own)
{
    heed_model *const model = model_of("bart"), *const other = model_of("bart");
    heed_model_memory *const memory = memory_of(model, HEED_MODEL_COMPRESSIVE);
    heed_model_memory *const salient = memory_of(model, HEED_MODEL_SALIENT);
    heed_model_memory *none = NULL;
    float x[N * CHANNELS] = { 0 };
    heed_report why = asking();

    refused("model", HEED_E_NULL, heed_model_memory_create(NULL, queue, NULL, &none, &why), &why,
            "model");
    refused("queue", HEED_E_NULL, heed_model_memory_create(model, NULL, NULL, &none, &why), &why,
            "queue");
    refused("out", HEED_E_NULL, heed_model_memory_create(model, queue, NULL, NULL, &why), &why,
            "out");
    refused("memory", HEED_E_NULL, heed_model_memory_reset(NULL, queue, &why), &why, "memory");
    refused("queue", HEED_E_NULL, heed_model_memory_reset(memory, NULL, &why), &why, "queue");
    refused("another model", HEED_E_MISMATCH,
            heed_model_encode_with(other, queue, memory, begin, N, x, &why), &why, "memory");
    refused("states", HEED_E_NULL, heed_model_memory_set(memory, queue, NULL, 1, &why), &why,
            "states");
    refused("another kind", HEED_E_UNSUPPORTED, heed_model_memory_set(memory, queue, x, 1, &why),
            &why, "memory");
    refused("more rows", HEED_E_VALUE, heed_model_memory_set(salient, queue, x, 9, &why), &why,
            "n");
    refused("fewer rows", HEED_E_VALUE, heed_model_memory_set(salient, queue, x, -1, &why), &why,
            "n");
    heed_model_memory_destroy(NULL);
    heed_model_memory_destroy(salient);
    heed_model_memory_destroy(memory);
    heed_model_close(other);
    heed_model_close(model);
}

TEST(a_refused_segment_is_not_taken_up)
{
    static const int32_t wrong[2] = { 0, 4000 };
    heed_model *const model = model_of("bart");
    float want[N * CHANNELS], got[N * CHANNELS];

    for (uint32_t kind = HEED_MODEL_COMPRESSIVE; kind <= HEED_MODEL_ATTENTIVE; kind++) {
        heed_model_memory *const memory = memory_of(model, kind);
        heed_report why = asking();

        read_segment(model, memory, begin, want);
        read_segment(model, memory, next, want);
        ck_assert_int_eq(heed_model_memory_reset(memory, queue, NULL), HEED_OK);
        read_segment(model, memory, begin, got);
        refused("an id", HEED_E_VALUE,
                heed_model_encode_with(model, queue, memory, wrong, 2, got, &why), &why, "ids");
        refused("no ids", HEED_E_VALUE,
                heed_model_encode_with(model, queue, memory, wrong, 0, got, &why), &why, "n");
        read_segment(model, memory, next, got);
        ck_assert(memcmp(got, want, sizeof got) == 0);
        heed_model_memory_destroy(memory);
    }
    heed_model_close(model);
}

/* ---- memory ---- */

/* One life of a memory, in which some request fails. */
static heed_status life(const heed_model *model, uint32_t kind)
{
    const heed_model_memory_options options = { .size = sizeof options, .kind = kind, .rows = 8 };
    heed_model_memory *memory = NULL;
    heed_report why = asking();
    float x[N * CHANNELS];
    heed_status status = heed_model_memory_create(model, queue, &options, &memory, &why);

    for (int i = 0; i < 2 && status >= 0; i++)
        status = heed_model_encode_with(model, queue, memory, i ? next : begin, N, x, &why);
    if (status < 0)
        refused("memory", HEED_E_NOMEM, status, &why, NULL);
    heed_model_memory_destroy(memory);
    return status;
}

TEST(requests_that_fail)
{
    heed_model *const model = model_of("bart");
    const int64_t step = suite_all() ? 1 : 5;

    for (uint32_t kind = HEED_MODEL_COMPRESSIVE; kind <= HEED_MODEL_ATTENTIVE; kind++) {
        const long long blocks = atomic_load(&ledger.blocks);
        heed_status status = HEED_E_NOMEM;
        int64_t failed = -1;

        for (int64_t k = 1; status < 0; k += step, failed++) {
            ledger_restart(&ledger);
            atomic_store(&ledger.fail_at, k);
            status = life(model, kind);
            ck_assert_int_eq(atomic_load(&ledger.blocks), blocks);
        }
        ledger_restart(&ledger);
        ck_assert_int_gt(failed, 10);
    }
    heed_model_close(model);
}

/* After the first segments each takes as many requests as the one before, and holds nothing. */
TEST(nothing_grows_with_the_document)
{
    heed_model *const model = model_of("bart");
    float x[N * CHANNELS];

    for (uint32_t kind = HEED_MODEL_COMPRESSIVE; kind <= HEED_MODEL_ATTENTIVE; kind++) {
        heed_model_memory *const memory = memory_of(model, kind);
        const long long bytes = atomic_load(&ledger.bytes), blocks = atomic_load(&ledger.blocks);
        long long requests = 0;

        for (int i = 0; i < SEGMENTS; i++) {
            ledger_restart(&ledger);
            read_segment(model, memory, i % 2 ? next : begin, x);
            ck_assert_int_eq(atomic_load(&ledger.bytes), bytes);
            ck_assert_int_eq(atomic_load(&ledger.blocks), blocks);
            if (i == 1)
                requests = atomic_load(&ledger.requests);
            ck_assert(i < 2 || atomic_load(&ledger.requests) == requests);
        }
        ck_assert_int_gt(requests, 0);
        heed_model_memory_destroy(memory);
    }
    heed_model_close(model);
}

int main(void)
{
    return suite_run("model-memory", 60, before, after);
}
