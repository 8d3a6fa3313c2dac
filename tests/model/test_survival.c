/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * libheed-model where memory ends at any request, and where a file of weights ends at any byte or
 * has any bit of its header changed: a status and a report, nothing held, nothing written.
 */
#include "asking.h"
#include "ledger.h"

enum { CHANNELS = 16 };

static const int32_t few[3] = { 0, 5, 2 };
static heed_runtime *runtime;
static heed_queue *queue;

static void before(void)
{
    heed_device *device;

    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(runtime, "cpu", &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
}

static void after(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
}

/* ---- memory ---- */

/* Every k-th request fails, until none does: a status of memory, nothing written, nothing held. */
static heed_status whole_life(const char *name, heed_queue *its, bool generate)
{
    static const heed_model_options half = { .size = sizeof half, .weights = HEED_F16 };
    static const int32_t groups[3] = { 0, 1, 1 };
    static float weights[2 * 8];
    static const heed_generate_options options = { .size = sizeof options, .beams = 2,
                                                   .max_length = 4, .weights = weights,
                                                   .groups = groups, .n_groups = 2 };
    heed_model *model = NULL;
    heed_report why = asking();
    float x[3 * CHANNELS];
    int32_t ids[8];
    int64_t n = -77;
    /* Matrices become another type on the way. */
    heed_status status = heed_model_open(its, folder_of(name), &half, &model, &why);

    if (status >= 0)
        status = heed_model_encode(model, its, few, 3, x, &why);
    if (status >= 0 && generate)
        status = heed_model_generate(model, its, few, 3, &options, ids, 8, &n, &why);
    if (status >= 0 && strcmp(name, "bytes") == 0)
        status = heed_model_vectors(model, its, (const char *const[]){ "ab", "c" },
                                    (const uint64_t[]){ 2, 1 }, 2, x, &why);
    if (status < 0)
        refused(name, HEED_E_NOMEM, status, &why, NULL);
    heed_model_close(model);
    return status;
}

static void scarce(const char *name, bool generate)
{
    struct ledger ledger = { 0 };
    const heed_allocator allocator = ledger_allocator(&ledger);
    const heed_runtime_desc desc = { .size = sizeof desc, .allocator = &allocator };
    const int64_t step = suite_all() ? 1 : 7;
    heed_runtime *own;
    heed_device *device;
    heed_queue *its;
    heed_status status = HEED_E_NOMEM;

    ck_assert_int_eq(heed_runtime_create(&desc, &own, NULL), HEED_OK);
    ck_assert_int_eq(heed_device_find(own, "cpu", &device, NULL), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &its, NULL), HEED_OK);
    ck_assert_int_eq(whole_life(name, its, generate), HEED_OK);
    for (int64_t k = 1; status < 0; k += step) {
        const long long blocks = atomic_load(&ledger.blocks);

        ledger_restart(&ledger);
        atomic_store(&ledger.fail_at, k);
        status = whole_life(name, its, generate);
        ck_assert_int_eq(atomic_load(&ledger.blocks), blocks);
        ck_assert_msg(status < 0 || atomic_load(&ledger.requests) < k,
                      "%s: request %lld of %lld failed, and nothing came of it", name,
                      (long long)k, atomic_load(&ledger.requests));
        atomic_store(&ledger.fail_at, 0);
    }
    ck_assert_int_eq(atomic_load(&ledger.mistakes), 0);
    heed_queue_destroy(its);
    heed_runtime_destroy(own);
    ck_assert_int_eq(atomic_load(&ledger.blocks), 0);
}

TEST(memory_that_ends)
{
    scarce("tiny", false);
    scarce("bart", true);
    scarce("bytes", false);
}

/* ---- files that are not what they were ---- */

struct blob {
    unsigned char data[8192];
    size_t n;
};

static void load(const char *path, struct blob *blob)
{
    FILE *const file = fopen(path, "rb");

    ck_assert_ptr_nonnull(file);
    blob->n = fread(blob->data, 1, sizeof blob->data, file);
    ck_assert(blob->n > 1000 && blob->n < sizeof blob->data);
    fclose(file);
}

static void store(const char *path, const unsigned char *data, size_t n)
{
    FILE *const file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

/* A model that opens and encodes, or a report of one line. */
static void either(const char *what, size_t which)
{
    heed_model *model = NULL;
    heed_report why = asking();
    float x[3 * CHANNELS];
    heed_status status = heed_model_open(queue, folder_of("tiny"), NULL, &model, &why);

    if (status >= 0)
        status = heed_model_encode(model, queue, few, 3, x, &why);
    else
        ck_assert_msg(!model, "%s %zu: a model in spite of an error", what, which);
    ck_assert_msg(status == HEED_OK || status == HEED_E_VALUE || status == HEED_E_SHAPE ||
                      status == HEED_E_DTYPE || status == HEED_E_UNSUPPORTED,
                  "%s %zu: %s", what, which, heed_status_name(status));
    if (status < 0)
        refused(what, status, status, &why, NULL);
    heed_model_close(model);
}

static void sweep(const char *name, size_t bits)
{
    struct blob blob;
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder_of("tiny"), name);
    load(path, &blob);
    for (size_t n = 0; n < blob.n; n += suite_all() ? 1 : 37) {
        store(path, blob.data, n);
        either("bytes", n);
    }
    for (size_t bit = 0; bit < bits; bit += suite_all() ? 1 : 61) {
        blob.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        store(path, blob.data, blob.n);
        either("bit", bit);
        blob.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    store(path, blob.data, blob.n);
    either("whole", 0);
}

/* Every length of the weights' file, and every bit of its header. */
TEST(weights_cut_and_flipped)
{
    struct blob blob;
    char path[4096];

    snprintf(path, sizeof path, "%s/model.safetensors", folder_of("tiny"));
    load(path, &blob);
    sweep("model.safetensors", 8 * (8 + blob.data[0] + 256 * (size_t)blob.data[1]));
}

int main(void)
{
    return suite_run("survival", 240, before, after);
}
