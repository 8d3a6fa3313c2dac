/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Packed rows and keys of items that two batch axes count, with begins and lengths that items
 * share; and what ranks do not do yet of them, or find to differ.
 */
#include "world.h"

#include <string.h>

enum { ROWS = 900, KEYS = 2600, MEMORY = 50, D = 8, SLOTS = 7 };

static heed_report report = { .size = sizeof(heed_report) };

static float q[ROWS * D], o[ROWS * D], own[ROWS * D], own_q[ROWS * D];
static float k[2][KEYS * D], v[2][KEYS * D];

struct packed {
    int32_t q_begins[2][3];
    int64_t q_lengths[3], shifts[3], begins[3];
    int32_t lengths[2], rows[2][4], list[4];
    heed_slot slots[SLOTS];
    heed_term terms[3];
    heed_source sources[2];
    heed_attn_desc desc;
    heed_mpi_keys keys[2];
    heed_mpi_parts parts;
};

static void fill(float *to, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(seed >> 20) / 1000 - 2;
    }
}

static void slots_make(struct packed *p)
{
    memcpy(p->q_begins, (const int32_t[2][3]){ { 400, 600, 650 }, { 0, 200, 210 } },
           sizeof p->q_begins);
    memcpy(p->q_lengths, (const int64_t[3]){ 200, 0, 150 }, sizeof p->q_lengths);
    memcpy(p->shifts, (const int64_t[3]){ 0, 7, -90 }, sizeof p->shifts);
    memcpy(p->begins, (const int64_t[3]){ 0, 701, 303 }, sizeof p->begins);
    memcpy(p->lengths, (const int32_t[2]){ 1500, 900 }, sizeof p->lengths);
    memcpy(p->rows, (const int32_t[2][4]){ { 3, 70, 140, -1 }, { 0, 149, 160, 199 } },
           sizeof p->rows);
    /* No item has the last key. */
    memcpy(p->list, (const int32_t[4]){ 1, 900, 1499, 2500 }, sizeof p->list);
    p->slots[0] = (heed_slot){ { HEED_I32, 2, { 2, 3 }, { 3, 1 } }, p->q_begins };
    p->slots[1] = (heed_slot){ { HEED_I64, 1, { 3 }, { 1 } }, p->q_lengths };
    p->slots[2] = (heed_slot){ { HEED_I64, 1, { 3 }, { 1 } }, p->shifts };
    p->slots[3] = (heed_slot){ { HEED_I64, 1, { 3 }, { 1 } }, p->begins };
    p->slots[4] = (heed_slot){ { HEED_I32, 2, { 2, 1 }, { 1, 1 } }, p->lengths };
    p->slots[5] = (heed_slot){ { HEED_I32, 3, { 2, 1, 4 }, { 4, 4, 1 } }, p->rows };
    p->slots[6] = (heed_slot){ { HEED_I32, 1, { 4 }, { 1 } }, p->list };
}

/* Packed keys, and a memory that each three items share. */
static void packed_make(struct packed *p)
{
    const int64_t memory[5] = { 2, 1, 1, MEMORY, D };

    *p = (struct packed){ 0 };
    slots_make(p);
    p->terms[0] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = 100, .right = 50 };
    p->terms[1] = (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = 6, .flags = HEED_TERM_ROWS };
    p->terms[2] = (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = 7, .flags = HEED_TERM_KEYS };
    p->sources[0] = (heed_source){ .k = heed_array4(HEED_F32, NULL, 1, 1, KEYS, D).t,
                                   .v = heed_array4(HEED_F32, NULL, 1, 1, KEYS, D).t,
                                   .layout = HEED_LAYOUT_RAGGED,
                                   .slot = 4,
                                   .len_slot = 5,
                                   .terms = HEED_ARRAY(p->terms) };
    p->sources[1] = (heed_source){ .k = heed_array_dense(HEED_F32, NULL, 5, memory).t,
                                   .v = heed_array_dense(HEED_F32, NULL, 5, memory).t };
    p->desc = (heed_attn_desc){ .size = sizeof p->desc,
                                .flags = HEED_ATTN_ALIGN_START,
                                .q = heed_array4(HEED_F32, NULL, 1, 1, ROWS, D).t,
                                .o = heed_array4(HEED_F32, NULL, 1, 1, ROWS, D).t,
                                .q_layout = HEED_LAYOUT_RAGGED,
                                .q_slot = 1,
                                .q_len_slot = 2,
                                .q_pos_slot = 3,
                                .sources = p->sources,
                                .n_sources = 2,
                                .source_size = sizeof *p->sources,
                                .slots = p->slots,
                                .n_slots = SLOTS,
                                .slot_size = sizeof *p->slots };
    p->parts = (heed_mpi_parts){ .size = sizeof p->parts,
                                 .first_row = ROWS * world.rank / world.ranks,
                                 .keys = p->keys,
                                 .n_keys = 2,
                                 .keys_size = sizeof *p->keys };
    p->parts.n_rows = ROWS * (world.rank + 1) / world.ranks - p->parts.first_row;
    /* A chunk of the text for each rank, but that the last one has the rest. */
    p->keys[0].first = world.rank < 3 ? world.rank * HEED_CHUNK : KEYS;
    p->keys[0].count = world.rank < 2 && world.rank + 1 < world.ranks ? HEED_CHUNK
                                                                      : KEYS - p->keys[0].first;
    p->keys[1].count = world.rank == 0 ? MEMORY : 0;
}

static void whole_compute(const struct packed *p)
{
    const heed_kv_bufs kv[2] = { { { k[0], 0 }, { v[0], 0 } }, { { k[1], 0 }, { v[1], 0 } } };
    const heed_attn_args args = { .size = sizeof args,
                                  .kv_size = sizeof *kv,
                                  .q = { q, 0 },
                                  .o = { o, 0 },
                                  .kv = kv,
                                  .slots = (const heed_buf[SLOTS]){ { NULL, 0 } },
                                  .n_slots = SLOTS };
    heed_attn_desc desc = p->desc;
    heed_plan *plan = NULL;

    desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    EXPECT(heed_attn_plan(world.device, &desc, &plan, &report) >= 0 &&
               heed_attn_run(plan, world.queue, &args, NULL, &report) >= 0,
           "%s: %s", report.field, report.message);
    heed_plan_drop(plan);
}

void packed_items_of_two_axes_have_the_words_of_one_machine(void)
{
    struct packed p;
    heed_mpi_plan *plan = NULL;

    packed_make(&p);
    fill(q, ROWS * D, 1);
    for (int s = 0; s < 2; s++) {
        fill(k[s], s ? 2 * MEMORY * D : KEYS * D, 2 + (uint32_t)s);
        fill(v[s], s ? 2 * MEMORY * D : KEYS * D, 4 + (uint32_t)s);
    }
    memset(o, 0x5a, sizeof o);
    memset(own, 0x5a, sizeof own);
    whole_compute(&p);
    memcpy(own_q, q + p.parts.first_row * D, (size_t)(p.parts.n_rows * D) * sizeof *q);
    const heed_kv_bufs kv[2] = {
        { { k[0] + p.keys[0].first * D, 0 }, { v[0] + p.keys[0].first * D, 0 } },
        { { k[1], 0 }, { v[1], 0 } },
    };
    const heed_attn_args args = { .size = sizeof args,
                                  .kv_size = sizeof *kv,
                                  .q = { own_q, 0 },
                                  .o = { own, 0 },
                                  .kv = kv,
                                  .n_slots = SLOTS };

    EXPECT(heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &p.desc, &p.parts, &plan, &report) ==
                   HEED_OK &&
               heed_mpi_attn_run(plan, world.queue, &args, &report) == HEED_OK,
           "%s: %s", report.field, report.message);
    if (plan)
        model_compare("two axes", &p.desc, &p.parts, plan);
    EXPECT(memcmp(own, o + p.parts.first_row * D,
                  (size_t)(p.parts.n_rows * D) * sizeof *o) == 0,
           "other words");
    heed_mpi_plan_destroy(plan);
}

/* ---- mistakes ---- */

static const struct {
    const char *field;
    heed_status status;
} wrong[] = {
    { "q_slot", HEED_E_UNSUPPORTED },
    { "q_len_slot", HEED_E_UNSUPPORTED },
    { "q_pos_slot", HEED_E_UNSUPPORTED },
    { "sources[0].slot", HEED_E_UNSUPPORTED },
    { "sources[0].len_slot", HEED_E_UNSUPPORTED },
    { "o_slot", HEED_E_UNSUPPORTED },
    { "desc", HEED_E_MISMATCH }, /* the last rank has other begins of rows */
    { "desc", HEED_E_MISMATCH }, /* or lengths of rows */
    { "desc", HEED_E_MISMATCH }, /* or begins of keys */
    { "desc", HEED_E_MISMATCH }, /* or lengths of keys */
    { "parts.first_row", HEED_E_VALUE },
    { "parts.keys[0]", HEED_E_VALUE },
};

static void wrong_make(size_t i, struct packed *p)
{
    const int differs = world.rank == world.ranks - 1;

    if (i < 5)
        p->slots[i].data = NULL;
    if (i == 5)
        p->desc.o_slot = 1;
    p->q_begins[1][1] += i == 6 ? differs : 0;
    p->q_lengths[2] -= i == 7 ? differs : 0;
    p->begins[1] += i == 8 ? differs : 0;
    p->lengths[1] += i == 9 ? differs : 0;
    if (i == 10)
        p->parts.first_row = ROWS + 1;
    if (i == 11)
        p->keys[0].count = KEYS + 1;
}

void what_is_wrong_with_packed_items_is_named(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int64_t live = world.live;
        heed_mpi_plan *plan = NULL;
        struct packed p;
        heed_status status;

        if (wrong[i].status == HEED_E_MISMATCH && world.ranks == 1)
            continue;
        packed_make(&p);
        wrong_make(i, &p);
        status =
            heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &p.desc, &p.parts, &plan, &report);
        EXPECT(status == wrong[i].status && strcmp(report.field, wrong[i].field) == 0,
               "%zu: %s: %s: %s", i, heed_status_name(status), report.field, report.message);
        EXPECT(!plan && world.live == live, "%zu: something is left", i);
    }
}
