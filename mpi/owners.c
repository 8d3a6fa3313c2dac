/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who holds which keys. Where keys begin and end that a rank holds is a border; between two borders
 * the ranks that hold keys do not change, and the lowest of them is asked. The set of these is one
 * bit a rank.
 */
#include "ranks.h"

#include <stdlib.h>

struct border {
    int64_t key;
    int32_t rank, reserved;
};

static int border_compare(const void *a, const void *b)
{
    const struct border *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

struct holders {
    uint64_t *bits;
    int64_t words;
};

/* -1: nobody. */
static int lowest(const struct holders *h)
{
    for (int64_t i = 0; i < h->words; i++) {
        for (int b = 0; h->bits[i] != 0 && b < 64; b++) {
            if (h->bits[i] >> b & 1)
                return (int)(i * 64 + b);
        }
    }
    return -1;
}

static int64_t borders_find(const struct heed_mpi_held *held, int ranks, int64_t source,
                            struct border *borders)
{
    int64_t n = 0;

    for (int rank = 0; rank < ranks; rank++) {
        const int64_t first = held[rank].first[source], count = held[rank].count[source];

        if (count == 0)
            continue;
        borders[n++] = (struct border){ first, rank, 0 };
        borders[n++] = (struct border){ first + count, rank, 0 };
    }
    qsort(borders, (size_t)n, sizeof *borders, border_compare);
    return n;
}

static heed_status nobody(heed_report *report, int64_t source, int64_t n_k, int64_t key)
{
    return heed_mpi_fill(report, HEED_E_SHAPE, "parts.keys", n_k, key,
                         "source %d: no rank holds key %lld", (int)source, (long long)key);
}

heed_status heed_mpi_owners_find(struct heed_mpi_memory *memory, const struct heed_mpi_held *held,
                                 int ranks, int64_t source, int64_t n_k,
                                 struct heed_mpi_owners *out, heed_report *report)
{
    struct border *borders = heed_mpi_take(memory, 2 * (int64_t)ranks, sizeof *borders, true);
    struct holders h = { heed_mpi_take(memory, ranks / 64 + 1, sizeof *h.bits, false),
                         ranks / 64 + 1 };
    int64_t n, key = 0;

    out->n = 0;
    out->segment = heed_mpi_take(memory, 2 * (int64_t)ranks, sizeof *out->segment, true);
    if (!borders || !h.bits || !out->segment)
        return heed_mpi_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the needs of ranks");
    n = borders_find(held, ranks, source, borders);
    for (int64_t i = 0; i < n; i++) {
        if (borders[i].key > key) {
            const int rank = lowest(&h);

            if (rank < 0)
                return nobody(report, source, n_k, key);
            out->segment[out->n++] =
                (struct heed_mpi_segment){ key, borders[i].key, (int32_t)rank, 0 };
            key = borders[i].key;
        }
        h.bits[borders[i].rank / 64] ^= (uint64_t)1 << borders[i].rank % 64;
    }
    return key < n_k ? nobody(report, source, n_k, key) : HEED_OK;
}

int64_t heed_mpi_segment_of(const struct heed_mpi_owners *o, int64_t key)
{
    int64_t low = 0, high = o->n - 1;

    while (low < high) {
        const int64_t middle = (low + high) / 2;

        if (key < o->segment[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
