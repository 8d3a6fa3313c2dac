/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A xorshift generator is enough: the contents must be different from each other, not random.
 */
#define _DEFAULT_SOURCE
#include "bench/contents.h"

#include "bench/workload.h"
#include "common/types.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE MADV_NORMAL
#endif

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The nearest lower 16-bit value; below the normal numbers of binary16 it is zero. */
static uint16_t narrow(uint32_t dtype, float value)
{
    uint32_t bits, exponent;

    memcpy(&bits, &value, sizeof bits);
    if (dtype == HEED_BF16)
        return (uint16_t)(bits >> 16);
    exponent = bits >> 23 & 0xff;
    if (exponent < 113)
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3ff));
}

static size_t size_of(uint32_t dtype)
{
    return type_find(dtype)->bytes;
}

/* Any integers; the largest one times the scale is as far from 0 as uniform numbers go. */
static void fill_blocks(void *to, uint32_t dtype, size_t count, float deviation, uint64_t state)
{
    const float least = (float)type_number(dtype, 0), most = (float)type_codes(dtype) / 2;
    const uint16_t scale =
        narrow(HEED_F16, 1.7320508f * deviation / (least < -most ? -least : most));

    for (size_t i = 0; i < count; i++) {
        unsigned char *const block = (unsigned char *)to + i * size_of(dtype);

        for (uint32_t j = 0; j < type_elements(dtype); j++)
            type_code_put(dtype, block, j, (uint32_t)(next_random(&state) >> 40));
        type_block_put(dtype, block, scale, narrow(HEED_F16, -1.7320508f * deviation));
    }
}

static void fill_uniform(void *to, uint32_t dtype, size_t count, float deviation, uint64_t state)
{
    if (type_elements(dtype) > 1) {
        fill_blocks(to, dtype, count, deviation, state);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const float unit = (float)(next_random(&state) >> 40) * 0x1p-24f - 0.5f;
        const float value = unit * 3.4641016f * deviation;

        if (dtype == HEED_F32)
            ((float *)to)[i] = value;
        else if (dtype == HEED_I8)
            ((int8_t *)to)[i] = (int8_t)(unit * 254.0f);
        else if (dtype == HEED_F16 || dtype == HEED_BF16)
            ((uint16_t *)to)[i] = narrow(dtype, value);
        else if (size_of(dtype) == 1)
            ((uint8_t *)to)[i] = (uint8_t)type_encode(dtype, value);
        else
            assert(0);
    }
}

static void fill_shuffled(int32_t *to, size_t count, size_t limit, uint64_t state)
{
    for (size_t first = 0; first < count; first += limit) {
        const size_t some = count - first < limit ? count - first : limit;

        for (size_t i = 0; i < some; i++) {
            const size_t other = (size_t)(next_random(&state) % (i + 1));

            to[first + i] = to[first + other];
            to[first + other] = (int32_t)i;
        }
    }
}

static void fill_prefix(int32_t *to, size_t count, size_t width, size_t prefix)
{
    for (size_t i = 0; i < count; i++) {
        const size_t at = i % width;

        to[i] = (int32_t)(at < prefix ? at : at + i / width * (width - prefix));
    }
}

/* As chunks of some keys leave them: M an integer, partial sums above 0, sums of mean 0. */
static void fill_states(float *to, size_t count, size_t width, uint64_t state)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t random = next_random(&state) >> 40;
        const float unit = (float)random * 0x1p-24f;
        const size_t at = i % width;

        to[i] = at == 0   ? (float)(random % 8)
                : at < 17 ? 1 + unit
                : at < 18 ? 1
                          : (unit - 0.5f) * 64;
    }
}

uint64_t contents_bytes(const heed_tensor *t)
{
    return (uint64_t)t->shape[0] * (uint64_t)t->stride[0] * size_of(t->dtype);
}

void contents_fill(void *to, const heed_tensor *t, struct contents what, uint64_t seed)
{
    const size_t count = (size_t)contents_bytes(t) / size_of(t->dtype);
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);

    if (what.kind == CONTENTS_UNIFORM)
        fill_uniform(to, t->dtype, count, what.deviation, state);
    if (what.kind == CONTENTS_SHUFFLED)
        fill_shuffled(to, count, (size_t)what.limit, state);
    if (what.kind == CONTENTS_PREFIX)
        fill_prefix(to, count, (size_t)t->shape[1], (size_t)what.limit);
    for (size_t i = 0; what.kind == CONTENTS_BELOW && i < count; i++)
        ((int32_t *)to)[i] = (int32_t)(next_random(&state) % (uint64_t)what.limit);
    for (size_t i = 0; what.kind == CONTENTS_VALUE && i < count; i++)
        ((int64_t *)to)[i] = what.limit;
    for (size_t i = 0; what.kind == CONTENTS_RAGGED && i < count; i++)
        ((int64_t *)to)[i] = workload_ragged(what.limit, (int64_t)count, (int64_t)i);
    for (size_t i = 0; what.kind == CONTENTS_ROWS && i < count; i++)
        ((int64_t *)to)[i] = workload_rows(what.limit, (int64_t)i);
    for (size_t i = 0; what.kind == CONTENTS_ROWS_BEFORE && i < count; i++)
        ((int64_t *)to)[i] = workload_rows_before(what.limit, (int64_t)i);
    if (what.kind == CONTENTS_STATES)
        fill_states(to, count, (size_t)what.limit, state);
}

void *contents_memory(size_t bytes)
{
    const size_t page = (size_t)2 << 20, line = 64, align = bytes >= page ? page : line;
    void *memory;

    if (bytes > SIZE_MAX - align)
        return NULL;
    bytes = (bytes + align - 1) & ~(align - 1);
    memory = aligned_alloc(align, bytes > 0 ? bytes : align);
    /* what is asked for is no promise, so the answer does not matter */
    if (memory != NULL && align == page)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}
