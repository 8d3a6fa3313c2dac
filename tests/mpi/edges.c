/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attentions that draw.c does not draw: several sources, and nothing to see.
 */
#include "world.h"

#include <string.h>

enum { SOURCES = 3, MEMORY = 5, TEXT = 3500, ROWS = 700, D = 8, D_V = 12 };

static heed_report report = { .size = sizeof(heed_report) };

static float q[ROWS * D], o[ROWS * D_V], own[ROWS * D_V];
static float k[TEXT * D], v[TEXT * D_V];

static void fill(float *to, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(seed >> 20) / 1000 - 2;
    }
}

/* The memory has the first keys of the text; the last source has no keys at all. */
static void sources_make(heed_source sources[SOURCES], const heed_term *see)
{
    static const int64_t n[SOURCES] = { MEMORY, TEXT, 0 };

    for (int s = 0; s < SOURCES; s++)
        sources[s] = (heed_source){
            .k = heed_array4(HEED_F32, NULL, 1, 1, n[s], D).t,
            .v = heed_array4(HEED_F32, NULL, 1, 1, n[s], D_V).t,
        };
    sources[1].terms = see;
    sources[1].n_terms = 1;
    sources[1].term_size = sizeof *see;
}

static void whole_compute(const heed_attn_desc *desc)
{
    const heed_kv_bufs kv[SOURCES] = { { { k, 0 }, { v, 0 } }, { { k, 0 }, { v, 0 } } };
    const heed_attn_args args = {
        .size = sizeof args, .kv_size = sizeof *kv, .q = { q, 0 }, .o = { o, 0 }, .kv = kv
    };
    heed_attn_desc local = *desc;
    heed_plan *plan = NULL;

    local.flags |= HEED_PLAN_OWN_WORKSPACE;
    EXPECT(heed_attn_plan(world.device, &local, &plan, &report) >= 0 &&
               heed_attn_run(plan, world.queue, &args, NULL, &report) >= 0,
           "%s", report.message);
    heed_plan_drop(plan);
}

void several_sources_have_the_words_of_one_machine(void)
{
    static const heed_term see = { .kind = HEED_TERM_WINDOW, .left = 200, .right = 2200 };
    heed_source sources[SOURCES];
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_ATTN_ALIGN_START,
        .q = heed_array4(HEED_F32, NULL, 1, 1, ROWS, D).t,
        .o = heed_array4(HEED_F32, NULL, 1, 1, ROWS, D_V).t,
        .sources = sources,
        .n_sources = SOURCES,
        .source_size = sizeof *sources,
    };
    const int64_t first = ROWS * world.rank / world.ranks;
    const int64_t n = ROWS * (world.rank + 1) / world.ranks - first;
    const int64_t chunk = 4 * world.rank / world.ranks * HEED_CHUNK;
    const int64_t end = 4 * (world.rank + 1) / world.ranks * HEED_CHUNK;
    /* Every rank has the memory. */
    const heed_mpi_keys keys[SOURCES] = {
        { .count = MEMORY }, { .first = chunk, .count = (end < TEXT ? end : TEXT) - chunk }, { 0 }
    };
    const heed_mpi_parts parts = { .size = sizeof parts,
                                   .first_row = first,
                                   .n_rows = n,
                                   .keys = keys,
                                   .n_keys = SOURCES,
                                   .keys_size = sizeof *keys };
    const heed_kv_bufs kv[SOURCES] = { { { k, 0 }, { v, 0 } },
                                       { { k + chunk * D, 0 }, { v + chunk * D_V, 0 } } };
    const heed_attn_args args = { .size = sizeof args,
                                  .kv_size = sizeof *kv,
                                  .q = { q + first * D, 0 },
                                  .o = { own, 0 },
                                  .kv = kv };
    heed_mpi_plan *plan = NULL;

    fill(q, ROWS * D, 1);
    fill(k, TEXT * D, 2);
    fill(v, TEXT * D_V, 3);
    sources_make(sources, &see);
    whole_compute(&desc);
    EXPECT(heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &desc, &parts, &plan, &report) ==
                   HEED_OK &&
               heed_mpi_attn_run(plan, world.queue, &args, &report) == HEED_OK,
           "%s: %s", report.field, report.message);
    if (plan)
        model_compare("several sources", &desc, &parts, plan);
    EXPECT(memcmp(own, o + first * D_V, (size_t)(n * D_V) * sizeof *o) == 0, "other words");
    heed_mpi_plan_destroy(plan);
}

void nothing_to_see_is_legal(void)
{
    for (int64_t rows = 0; rows < 2; rows++) {
        const heed_attn_desc desc = {
            .size = sizeof desc,
            .q = heed_array4(HEED_F32, NULL, 1, 1, rows, D).t,
            .o = heed_array4(HEED_F32, NULL, 1, 1, rows, D_V).t,
        };
        const heed_mpi_parts parts = { .size = sizeof parts, .n_rows = rows };
        const heed_attn_args args = { .size = sizeof args, .q = { q, 0 }, .o = { own, 0 } };
        heed_mpi_plan *plan = NULL;

        memset(own, 0x5a, sizeof own);
        EXPECT(heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &desc, &parts, &plan, &report) ==
                       HEED_OK &&
                   heed_mpi_attn_run(plan, world.queue, &args, &report) == HEED_OK,
               "%s: %s", report.field, report.message);
        EXPECT(rows == 0 || (own[0] == 0 && own[D_V - 1] == 0), "rows that see nothing are zeros");
        heed_mpi_plan_destroy(plan);
    }
}
