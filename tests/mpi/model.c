/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed_mpi_model() says, against plans of ranks, and of more ranks than there are.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES = 3, MANY = 4096 };

static heed_report report = { .size = sizeof(heed_report) };

/* ---- the ranks that there are ---- */

struct said {
    int64_t first_row, n_rows, message_bytes;
    uint32_t flags, reserved;
    int64_t first[SOURCES], count[SOURCES];
};

/* Parts of all ranks. */
static void parts_gather(const heed_mpi_parts *mine, heed_mpi_parts *parts,
                         heed_mpi_keys (*keys)[SOURCES])
{
    struct said said = { mine->first_row, mine->n_rows, mine->message_bytes, mine->flags, 0,
                         { 0 },           { 0 } };
    struct said all[MOST_RANKS];

    for (uint32_t s = 0; s < mine->n_keys; s++) {
        said.first[s] = mine->keys[s].first;
        said.count[s] = mine->keys[s].count;
    }
    MPI_Allgather(&said, sizeof said, MPI_BYTE, all, sizeof said, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < world.ranks; r++) {
        for (uint32_t s = 0; s < mine->n_keys; s++)
            keys[r][s] = (heed_mpi_keys){ .first = all[r].first[s], .count = all[r].count[s] };
        parts[r] = (heed_mpi_parts){ .size = sizeof *parts,
                                     .flags = all[r].flags,
                                     .first_row = all[r].first_row,
                                     .n_rows = all[r].n_rows,
                                     .keys = keys[r],
                                     .n_keys = mine->n_keys,
                                     .keys_size = sizeof **keys,
                                     .message_bytes = all[r].message_bytes };
    }
}

void model_compare(const char *text, const heed_attn_desc *desc, const heed_mpi_parts *mine,
                   const heed_mpi_plan *plan)
{
    heed_mpi_parts parts[MOST_RANKS];
    heed_mpi_keys keys[MOST_RANKS][SOURCES];
    heed_mpi_props said[MOST_RANKS], props = { .size = sizeof props };
    const int64_t live = world.live;

    parts_gather(mine, parts, keys);
    said[0].size = sizeof *said;
    EXPECT(heed_mpi_model(world.device, desc, parts, world.ranks, said, &report) == HEED_OK,
           "%s: %s: %s", text, report.field, report.message);
    EXPECT(world.live == live, "%s: the model leaves blocks", text);
    EXPECT(heed_mpi_plan_info(plan, &props) == HEED_OK, "no info");
    EXPECT(said[world.rank].host_bytes <= props.host_bytes, "%s: %llu of %llu bytes", text,
           (unsigned long long)said[world.rank].host_bytes, (unsigned long long)props.host_bytes);
    props.host_bytes = said[world.rank].host_bytes;
    EXPECT(memcmp(&said[world.rank], &props, sizeof props) == 0,
           "%s: the model has rows_move %u, in %llu/%llu, out %llu/%llu, copied %llu, seen %llu, "
           "the plan %u, %llu/%llu, %llu/%llu, %llu, %llu",
           text, said[world.rank].rows_move, (unsigned long long)said[world.rank].bytes_in,
           (unsigned long long)said[world.rank].messages_in,
           (unsigned long long)said[world.rank].bytes_out,
           (unsigned long long)said[world.rank].messages_out,
           (unsigned long long)said[world.rank].bytes_copied,
           (unsigned long long)said[world.rank].keys_seen, props.rows_move,
           (unsigned long long)props.bytes_in, (unsigned long long)props.messages_in,
           (unsigned long long)props.bytes_out, (unsigned long long)props.messages_out,
           (unsigned long long)props.bytes_copied, (unsigned long long)props.keys_seen);
}

/* ---- many ranks ---- */

struct cluster {
    heed_term terms[3];
    heed_source source;
    heed_attn_desc desc;
    heed_mpi_keys keys[MANY];
    heed_mpi_parts parts[MANY];
    heed_mpi_props props[MANY];
};

/* `rows` rows and keys, cut evenly. */
static struct cluster *cluster_make(int64_t rows, const heed_term *terms, uint32_t n_terms)
{
    struct cluster *c = calloc(1, sizeof *c);

    if (n_terms > 0)
        memcpy(c->terms, terms, n_terms * sizeof *terms);
    c->source.k = c->source.v = heed_array4(HEED_BF16, NULL, 1, 8, rows, 128).t;
    c->source.terms = c->terms;
    c->source.n_terms = n_terms;
    c->source.term_size = sizeof *terms;
    c->desc = (heed_attn_desc){ .size = sizeof c->desc,
                                .q = heed_array4(HEED_BF16, NULL, 1, 32, rows, 128).t,
                                .o = heed_array4(HEED_BF16, NULL, 1, 32, rows, 128).t,
                                .sources = &c->source,
                                .n_sources = 1,
                                .source_size = sizeof c->source };
    for (int r = 0; r < MANY; r++) {
        c->keys[r] = (heed_mpi_keys){ .first = rows / MANY * r, .count = rows / MANY };
        c->parts[r] = (heed_mpi_parts){ .size = sizeof *c->parts,
                                        .first_row = rows / MANY * r,
                                        .n_rows = rows / MANY,
                                        .keys = &c->keys[r],
                                        .n_keys = 1,
                                        .keys_size = sizeof *c->keys };
    }
    c->props[0].size = sizeof *c->props;
    return c;
}

/* A rank in the middle sees its own keys, the window around them, the globals and the steps. */
void many_ranks_take_little_memory(void)
{
    static const heed_term terms[] = {
        { .kind = HEED_TERM_WINDOW, .left = 4096, .right = 4096 },
        { .kind = HEED_TERM_GLOBAL, .block = 64, .flags = HEED_TERM_KEYS },
        { .kind = HEED_TERM_ALL, .step = 509 },
    };
    const int64_t rows = (int64_t)1 << 30, own = rows / MANY, width = 8 * 2 * 128 * 2;
    struct cluster *c = cluster_make(rows, terms, 3);
    heed_mpi_props *p = c->props;
    uint64_t in = 0, out = 0;
    double begin, end;

    world.most_bytes = world.bytes;
    const int64_t before = world.bytes;

    begin = MPI_Wtime();
    EXPECT(heed_mpi_model(world.device, &c->desc, c->parts, MANY, p, &report) == HEED_OK, "%s: %s",
           report.field, report.message);
    end = MPI_Wtime();
    if (world.rank == 0)
        printf("2^30 rows, %d ranks: %.2f s, %.1f MiB\n", MANY, end - begin,
               (double)(world.most_bytes - before) / 0x1p20);
    EXPECT(world.most_bytes - before < (int64_t)64 << 20, "%lld bytes",
           (long long)(world.most_bytes - before));
    for (int r = 0; r < MANY; r++) {
        in += p[r].bytes_in;
        out += p[r].bytes_out;
    }
    EXPECT(in == out && in > 0, "more comes than goes");
    /* Steps lie in a page of 16 each, of which one may be among the globals. */
    const int64_t steps = (rows - own - 2 * 4096) / 509, pages = (64 + 2 * 4096) / 16;
    const int64_t least = (steps - 2 + pages) * 16, most = (steps + 2 + pages) * 16;

    EXPECT((int64_t)p[MANY / 2].bytes_in >= least * width &&
               (int64_t)p[MANY / 2].bytes_in <= most * width,
           "%llu bytes, not %lld to %lld", (unsigned long long)p[MANY / 2].bytes_in,
           (long long)(least * width), (long long)(most * width));
    free(c);
}

/* Of causal attention rank r sees the keys of r ranks before it. */
void a_model_of_causal_ranks_is_a_triangle(void)
{
    const int64_t rows = (int64_t)1 << 26, own = rows / MANY, width = 8 * 2 * 128 * 2;
    struct cluster *c = cluster_make(rows, NULL, 0);

    c->source.flags = HEED_SOURCE_CAUSAL;
    EXPECT(heed_mpi_model(world.device, &c->desc, c->parts, MANY, c->props, &report) == HEED_OK,
           "%s: %s", report.field, report.message);
    for (int64_t r = 0; r < MANY; r++) {
        EXPECT(c->props[r].bytes_in == (uint64_t)(r * own * width) &&
                   c->props[r].bytes_out == (uint64_t)((MANY - 1 - r) * own * width) &&
                   c->props[r].messages_in >= 2 * (uint64_t)r,
               "rank %lld: %llu bytes", (long long)r, (unsigned long long)c->props[r].bytes_in);
    }
    free(c);
}

static void wrong_parts_are_named(struct cluster *c)
{
    heed_status status;

    c->parts[7].n_rows++;
    c->parts[4095].n_rows++;
    status = heed_mpi_model(world.device, &c->desc, c->parts, MANY, c->props, &report);
    EXPECT(status == HEED_E_VALUE && strncmp(report.message, "rank 4095: ", 11) == 0, "%s",
           report.message);
    c->parts[4095].n_rows--;
    c->parts[9].message_bytes = 5;
    status = heed_mpi_model(world.device, &c->desc, c->parts, MANY, c->props, &report);
    EXPECT(status == HEED_E_MISMATCH && strncmp(report.message, "rank 9: ", 8) == 0, "%s",
           report.message);
    c->parts[9].message_bytes = 0;
    c->parts[3].size += 4096; /* more than there is: it must not be read */
    status = heed_mpi_model(world.device, &c->desc, c->parts, MANY, c->props, &report);
    EXPECT(status == HEED_E_SIZE && strncmp(report.message, "rank 3: ", 8) == 0, "%s",
           report.message);
    c->parts[3].size -= 4096;
    c->keys[5].v = c->source.v;
    c->keys[5].v.shape[2] = c->keys[5].count;
    c->keys[5].v.stride[2] = INT64_MAX / 8;
    status = heed_mpi_model(world.device, &c->desc, c->parts, MANY, c->props, &report);
    EXPECT(status == HEED_E_OVERFLOW && strcmp(report.field, "parts.keys[0].v") == 0, "%s: %s",
           report.field, report.message);
    c->keys[5].v.ndim = 0;
}

void a_wrong_model_writes_nothing(void)
{
    static const heed_term all = { .kind = HEED_TERM_ALL };
    struct cluster *c = cluster_make((int64_t)1 << 22, &all, 1);
    const struct {
        heed_device *device;
        const heed_attn_desc *desc;
        const heed_mpi_parts *parts;
        heed_mpi_props *props;
        int32_t ranks;
        const char *field;
        heed_status status;
    } wrong[] = {
        { NULL, &c->desc, c->parts, c->props, MANY, "device", HEED_E_NULL },
        { world.device, NULL, c->parts, c->props, MANY, "desc", HEED_E_NULL },
        { world.device, &c->desc, NULL, c->props, MANY, "parts", HEED_E_NULL },
        { world.device, &c->desc, c->parts, NULL, MANY, "props", HEED_E_NULL },
        { world.device, &c->desc, c->parts, c->props, 0, "ranks", HEED_E_VALUE },
        { world.device, &c->desc, c->parts, c->props, -3, "ranks", HEED_E_VALUE },
        { world.device, &c->desc, c->parts, c->props, MANY - 1, "parts.keys", HEED_E_SHAPE },
    };
    heed_status status;

    memset(c->props + 1, 0x5a, sizeof *c->props);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        status = heed_mpi_model(wrong[i].device, wrong[i].desc, wrong[i].parts, wrong[i].ranks,
                                wrong[i].props, &report);
        EXPECT(status == wrong[i].status && strcmp(report.field, wrong[i].field) == 0,
               "%zu: %s: %s", i, report.field, report.message);
    }
    wrong_parts_are_named(c);
    EXPECT(((unsigned char *)&c->props[1])[7] == 0x5a, "something was written");
    for (int64_t n = 0; n < 40; n++) {
        const int64_t live = world.live;

        c->parts[9].message_bytes = 0;
        world.fail_at = world.taken + n;
        status = heed_mpi_model(world.device, &c->desc, c->parts, 8, c->props, NULL);
        world.fail_at = -1;
        EXPECT(status == HEED_E_NOMEM || status == HEED_E_SHAPE, "%lld: %s", (long long)n,
               heed_status_name(status));
        EXPECT(world.live == live, "blocks are left");
    }
    free(c);
}
