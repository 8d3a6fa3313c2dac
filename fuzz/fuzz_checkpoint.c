/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the header of a file of weights, and as the index of shards: what is taken has
 * tensors that lie one behind the other, fill the data, and are found by their names.
 */
#include "fuzz.h"
#include "memory.h"

#include "model/checkpoint.h"

#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

/* Of the data behind the header: the input's first two bytes. */
enum { FRONT = 2 };

static uint64_t size_of(uint32_t dtype)
{
    return dtype == HEED_F32 ? 4 : dtype == HEED_F16 || dtype == HEED_BF16 ? 2 : 0;
}

static void judge(const struct checkpoint *c, int64_t data)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct weight *const w = &c->weights[i];
        uint64_t elements = 1;
        char name[CHECKPOINT_NAME];

        FUZZ_REQUIRE(w->ndim <= CHECKPOINT_AXES, "%u axes", w->ndim);
        FUZZ_REQUIRE(w->begin >= 0 && w->bytes >= 0 && w->bytes <= data &&
                         w->begin <= data - w->bytes, "a tensor outside of the data");
        for (uint32_t k = 0; k < w->ndim; k++) {
            FUZZ_REQUIRE(w->shape[k] >= 0, "a negative extent");
            elements *= (uint64_t)w->shape[k];
        }
        FUZZ_REQUIRE(!size_of(w->dtype) || elements * size_of(w->dtype) == (uint64_t)w->bytes,
                     "extents and bytes disagree");
        FUZZ_REQUIRE(w->name_bytes > 0 && w->name_bytes < CHECKPOINT_NAME, "a name of %u bytes",
                     w->name_bytes);
        snprintf(name, sizeof name, "%.*s", (int)w->name_bytes, w->name);
        FUZZ_REQUIRE(checkpoint_find(c, name) == w, "%s is not found", name);
        sum += w->bytes;
    }
    FUZZ_REQUIRE(sum == data, "the tensors have %lld bytes of %lld", (long long)sum,
                 (long long)data);
}

static void header(const char *text, size_t size, int64_t data)
{
    heed_report why = { .size = sizeof why };
    struct checkpoint c;
    const heed_status status = checkpoint_parse(text, size, data, &c, &why);

    FUZZ_REQUIRE(status == HEED_OK || (status == HEED_E_VALUE && *why.message && *why.field),
                 "status %d, %s", (int)status, why.message);
    if (status < 0)
        return;
    judge(&c, data);
    checkpoint_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json j;
    uint8_t *text;
    long of = 0;

    if (size < FRONT || !(text = fuzz_place(0, size - FRONT + 1, true)))
        return 0;
    /* One byte more, so that an empty text has a place; the last byte is at the border. */
    memcpy(text + 1, data + FRONT, size - FRONT);
    header((const char *)text + 1, size - FRONT, data[0] | data[1] << 8);
    json_begin(&j, (const char *)text + 1, size - FRONT);
    FUZZ_REQUIRE(checkpoint_shards(&j, &of) ? of >= 1 && of <= CHECKPOINT_FILES : j.error != NULL,
                 "%ld shards", of);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static const char *const texts[] = {
        "{\"__metadata__\":{\"format\":\"pt\"},\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],"
        "\"data_offsets\":[0,24]},\"a.bias\":{\"dtype\":\"BF16\",\"shape\":[2],"
        "\"data_offsets\":[24,28]}}",
        "{\"x\":{\"shape\":[],\"dtype\":\"F16\",\"data_offsets\":[26,28]},\"y\":{\"data_offsets\":"
        "[0,26],\"dtype\":\"I8\",\"shape\":[13,1,2,1]}}",
        "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"b\":"
        "\"model-00002-of-00002.safetensors\"},\"metadata\":{\"total_size\":3.5e1}}",
        "{\"big\":{\"dtype\":\"F32\",\"shape\":[4398046511105,4],\"data_offsets\":[0,28]}}",
        "{\"n\":{\"dtype\":\"U8\",\"shape\":[28],\"data_offsets\":[0,28]}, \"n\" : {\"dtype\":"
        "\"F64\",\"shape\":[0],\"data_offsets\":[28,28]}}",
    };

    if (number >= sizeof texts / sizeof *texts)
        return 0;
    data[0] = 28;
    data[1] = 0;
    memcpy(data + FRONT, texts[number], strlen(texts[number]));
    return FRONT + strlen(texts[number]);
}
