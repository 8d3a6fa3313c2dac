/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention of several ranks has the words of one machine, moves what the plan says, and what one
 * rank does wrong all ranks are told. Run by mpirun: ranks [CASES].
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

static heed_report report = { .size = sizeof(heed_report) };

/* Runs of this rank in which rows travelled, in which keys did, and in which all stayed. */
static int rows_moved, keys_moved, keys_stayed;

static heed_mpi_plan *plan_of(const struct attention *a, const struct part *p)
{
    heed_mpi_plan *plan = NULL;
    const heed_status status =
        heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &a->desc, &p->parts, &plan, &report);

    EXPECT(status == HEED_OK && report.status == HEED_OK, "%s: %s: %s", a->text, report.field,
           report.message);
    return plan;
}

/* ---- words and bytes ---- */

static void traffic_compare(const heed_mpi_plan *plan, const struct attention *a)
{
    heed_mpi_props props = { .size = sizeof props };
    uint64_t moved[2], all[2];

    EXPECT(heed_mpi_plan_info(plan, &props) == HEED_OK, "no info");
    EXPECT(props.rank == world.rank && props.ranks == world.ranks && props.host_bytes > 0,
           "%s: rank %d of %d", a->text, props.rank, props.ranks);
    EXPECT(props.bytes_in == traffic.bytes_in && props.messages_in == traffic.messages_in,
           "%s: %llu bytes in, %llu came", a->text, (unsigned long long)props.bytes_in,
           (unsigned long long)traffic.bytes_in);
    EXPECT(props.bytes_out == traffic.bytes_out && props.messages_out == traffic.messages_out,
           "%s: %llu bytes out, %llu went", a->text, (unsigned long long)props.bytes_out,
           (unsigned long long)traffic.bytes_out);
    rows_moved += props.rows_move != 0;
    keys_moved += !props.rows_move && props.bytes_in > 0;
    keys_stayed +=
        !props.rows_move && props.keys_seen > 0 && props.bytes_in + props.bytes_copied == 0;
    moved[0] = props.bytes_in;
    moved[1] = props.bytes_out;
    MPI_Allreduce(moved, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all[0] == all[1], "%s: more came than went", a->text);
}

static void words_compare(uint64_t seed, int pattern, uint32_t flags)
{
    struct attention a;
    struct part p;
    heed_mpi_plan *plan;

    attention_draw(&a, seed, pattern);
    attention_compute(&a);
    part_make(&p, &a);
    p.parts.flags = flags;
    plan = plan_of(&a, &p);
    if (plan)
        model_compare(a.text, &a.desc, &p.parts, plan);
    for (int again = 0; again < 2 && plan; again++) {
        memset(p.o, 0x5a, (size_t)(a.q_items * 4 * p.parts.n_rows * a.d * a.size));
        traffic = (struct traffic){ 0 };
        EXPECT(heed_mpi_attn_run(plan, world.queue, &p.args, &report) == HEED_OK, "%s: %s: %s",
               a.text, report.field, report.message);
        EXPECT(part_equal(&p, &a), "%s: other words", a.text);
        traffic_compare(plan, &a);
        if (p.parts.message_bytes > 0) /* or the keys of a head */
            EXPECT(traffic.longest <= 20000 ||
                       traffic.longest <= (uint64_t)(HEED_CHUNK * a.d * a.size),
                   "%s: a message of %llu bytes", a.text, (unsigned long long)traffic.longest);
    }
    heed_mpi_plan_destroy(plan);
    part_free(&p);
    attention_free(&a);
}

/* One source of one item, as many rows as keys; without memory. */
static void attention_begin(struct attention *a, int64_t key_heads, int64_t n)
{
    *a = (struct attention){ .text = "a window",
                             .batch = 1,
                             .q_items = 1,
                             .key_heads = key_heads,
                             .n_q = n,
                             .d = 8,
                             .size = 4 };
    a->drawn[0].n_k = n;
    a->drawn[0].items = 1;
    a->sources[0] = (heed_source){ .k = heed_array4(HEED_F32, NULL, 1, key_heads, n, a->d).t,
                                   .v = heed_array4(HEED_F32, NULL, 1, key_heads, n, a->d).t,
                                   .terms = a->drawn[0].terms,
                                   .term_size = sizeof *a->drawn[0].terms };
    a->desc = (heed_attn_desc){
        .size = sizeof a->desc,
        .q = heed_array4(HEED_F32, NULL, 1, 4, n, a->d).t,
        .o = heed_array4(HEED_F32, NULL, 1, 4, n, a->d).t,
        .sources = a->sources,
        .n_sources = 1,
        .source_size = sizeof *a->sources,
        .slots = a->slots,
        .slot_size = sizeof *a->slots,
    };
}

/* Of a window that reaches so many keys to each side whole pages of `page` keys are asked for. */
static void only_what_is_seen_moves(int64_t reach, int64_t page)
{
    const uint64_t keys = (uint64_t)((reach + page - 1) / page * page);
    struct attention a;
    struct part p;
    heed_mpi_plan *plan;
    heed_mpi_props props = { .size = sizeof props };

    attention_begin(&a, 1, 16 * HEED_CHUNK);
    a.drawn[0].terms[0] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = reach, .right = reach };
    a.sources[0].n_terms = 1;
    p = (struct part){ .parts = { .size = sizeof p.parts,
                                  .keys = p.keys,
                                  .n_keys = 1,
                                  .keys_size = sizeof *p.keys } };
    p.keys[0].first = p.parts.first_row = 16 * world.rank / world.ranks * HEED_CHUNK;
    p.keys[0].count = p.parts.n_rows =
        16 * (world.rank + 1) / world.ranks * HEED_CHUNK - p.keys[0].first;
    plan = plan_of(&a, &p);
    if (plan && heed_mpi_plan_info(plan, &props) == HEED_OK) {
        const int neighbours = (world.rank > 0) + (world.rank + 1 < world.ranks);

        EXPECT(props.messages_in == 2 * (uint64_t)neighbours, "%llu messages from %d neighbours",
               (unsigned long long)props.messages_in, neighbours);
        EXPECT(props.messages_out == props.messages_in, "as many go");
        EXPECT(props.keys_seen == props.keys_held + keys * (uint64_t)neighbours,
               "%llu keys are seen", (unsigned long long)props.keys_seen);
        EXPECT(props.bytes_in == keys * 2 * (uint64_t)(neighbours * a.d * 4), "%llu bytes",
               (unsigned long long)props.bytes_in);
    }
    heed_mpi_plan_destroy(plan);
}

/* ---- mistakes ---- */

struct mistake {
    const char *name, *field;
    heed_status status;
};

static const struct mistake mistakes[] = {
    { "a rank without a descriptor", "desc", HEED_E_NULL },
    { "a rank without parts", "parts", HEED_E_NULL },
    { "a rank without a device", "device", HEED_E_NULL },
    { "a rank without room for the plan", "out", HEED_E_NULL },
    { "a rank with another window", "desc", HEED_E_MISMATCH },
    { "a rank with another list", "desc", HEED_E_MISMATCH },
    { "a rank with another scale", "desc", HEED_E_MISMATCH },
    { "a rank with rows that are not there", "parts.first_row", HEED_E_VALUE },
    { "a rank with more keys than there are", "parts.keys[0]", HEED_E_VALUE },
    { "a rank that cuts within a chunk", "parts.keys[0]", HEED_E_SHAPE },
    { "keys that nobody holds", "parts.keys", HEED_E_SHAPE },
    { "a rank with a tensor of another shape", "parts.q", HEED_E_SHAPE },
    { "a rank with a descriptor that is wrong", "flags", HEED_E_FLAG },
    { "a rank with flags of tomorrow", "parts.flags", HEED_E_FLAG },
    { "a rank with parts that are too short", "parts", HEED_E_SIZE },
    { "positions that a run binds", "q_pos_slot", HEED_E_UNSUPPORTED },
    { "a mask", "sources[0].mask_slot", HEED_E_UNSUPPORTED },
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* The arguments of the rank that is wrong. */
struct given {
    heed_device *device;
    const heed_attn_desc *desc;
    const heed_mpi_parts *parts;
    bool out;
};

static void mistake_make(int i, struct attention *a, struct part *p, struct given *g)
{
    static const uint8_t mask[1] = { 1 };

    switch (i) {
    case 0:
        g->desc = NULL;
        break;
    case 1:
        g->parts = NULL;
        break;
    case 2:
        g->device = NULL;
        break;
    case 3:
        g->out = false;
        break;
    case 4:
        a->drawn[0].terms[0].left++;
        break;
    case 5:
        a->drawn[0].list[0][0]++;
        break;
    case 6:
        a->desc.scale = 0.5;
        break;
    case 7:
        p->parts.first_row = a->n_q + 1;
        break;
    case 8:
        p->keys[0].count = a->n_q + 1;
        break;
    case 9:
        p->keys[0].count = HEED_CHUNK + 1;
        break;
    case 10:
        p->keys[0].count = 0;
        break;
    case 11:
        p->parts.q = heed_array4(HEED_F32, NULL, 1, 4, p->parts.n_rows + 1, a->d).t;
        break;
    case 12:
        a->desc.flags |= 1u << 30;
        break;
    case 13:
        p->parts.flags = 1u << 20;
        break;
    case 14:
        p->parts.size = 8;
        break;
    case 15:
        a->slots[1] = (heed_slot){ { HEED_I64, 1, { 1 }, { 1 } }, NULL };
        a->desc.q_pos_slot = a->desc.n_slots = 2;
        break;
    default:
        a->slots[1] = (heed_slot){ { HEED_U8, 3, { 1, 1, a->n_q }, { 0, 0, 0 } }, mask };
        a->desc.n_slots = 2;
        a->sources[0].mask_slot = 2;
        break;
    }
}

/* Window, and a list of global keys, over 3 chunks and some, of which the last rank holds all. */
static void small_make(struct attention *a, struct part *p)
{
    struct drawn *d = &a->drawn[0];

    attention_begin(a, 2, 3 * HEED_CHUNK + 100);
    d->list[0][0] = 1;
    d->list[0][1] = 2000;
    a->slots[0] = (heed_slot){ { HEED_I32, 1, { 2 }, { 1 } }, d->list };
    a->desc.n_slots = 1;
    d->terms[0] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = 300, .right = 20 };
    d->terms[1] = (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = 1 };
    a->sources[0].n_terms = 2;
    for (int r = 0; r <= world.ranks; r++) {
        a->row_cut[r] = a->n_q * r / world.ranks;
        d->cut[r] = r == world.ranks ? d->n_k : 0;
    }
    a->q = room(4 * a->n_q * a->d * 4);
    d->k = room(a->key_heads * d->n_k * a->d * 4);
    d->v = room(a->key_heads * d->n_k * a->d * 4);
    part_make(p, a);
}

static void every_rank_is_told(int i)
{
    const struct mistake *m = &mistakes[i];
    const bool differs = m->status == HEED_E_MISMATCH;
    const int wrong = world.ranks - 1;
    const int64_t live = world.live;
    struct attention a;
    struct part p;
    heed_mpi_plan *plan = (heed_mpi_plan *)&p;
    struct given g = { world.device, &a.desc, &p.parts, true };
    char who[24];
    heed_status status;

    if (differs && world.ranks == 1)
        return;
    small_make(&a, &p);
    if (world.rank == wrong || m->status == HEED_E_UNSUPPORTED)
        mistake_make(i, &a, &p, &g);
    status = heed_mpi_attn_plan(MPI_COMM_WORLD, g.device, g.desc, g.parts, g.out ? &plan : NULL,
                                &report);
    /* What all ranks find wrong, the first one is named for. */
    snprintf(who, sizeof who, "rank %d: ",
             m->status == HEED_E_UNSUPPORTED || strcmp(m->field, "parts.keys") == 0 ? 0 : wrong);
    EXPECT(status == m->status, "%s: %s", m->name, heed_status_name(status));
    EXPECT(report.status == status && strcmp(report.field, m->field) == 0, "%s: %s: %s", m->name,
           report.field, report.message);
    EXPECT(strncmp(report.message, who, strlen(who)) == 0, "%s: %s", m->name, report.message);
    EXPECT(plan == (heed_mpi_plan *)&p, "%s: a plan was written", m->name);
    EXPECT(world.live == live, "%s: %lld blocks are left", m->name, (long long)(world.live - live));
    part_free(&p);
    attention_free(&a);
}

/* The last rank has no memory for its n-th block: all say so, and nothing is kept. */
static void memory_that_lacks_is_everybodys(bool few_rows)
{
    struct attention a;
    struct part p;

    small_make(&a, &p);
    if (few_rows) {
        a.desc.q = a.desc.o = heed_array4(HEED_F32, NULL, 1, 4, 2, a.d).t;
        a.sources[0].n_terms = 0;
        p.parts.first_row = 0;
        p.parts.n_rows = 2;
    }
    for (int64_t n = 0; n < 200; n++) {
        const int64_t live = world.live;
        heed_mpi_plan *plan = NULL;
        heed_status status;

        world.fail_at = world.rank == world.ranks - 1 ? world.taken + n : -1;
        status =
            heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &a.desc, &p.parts, &plan, &report);
        world.fail_at = -1;
        EXPECT(status == HEED_OK || status == HEED_E_NOMEM, "block %d: %s", (int)n, report.message);
        EXPECT((status == HEED_OK) == (plan != NULL), "block %d: a plan", (int)n);
        heed_mpi_plan_destroy(plan);
        EXPECT(world.live == live, "block %d: %lld are left", (int)n,
               (long long)(world.live - live));
        if (status == HEED_OK)
            break;
        EXPECT(n < 199, "the plan never succeeds");
    }
    part_free(&p);
    attention_free(&a);
}

static void failures_of_mpi_are_statuses(void)
{
    struct attention a;
    struct part p;
    heed_mpi_plan *plan = NULL;
    heed_status status;

    small_make(&a, &p);
    traffic.fail_alltoall = true;
    status = heed_mpi_attn_plan(MPI_COMM_WORLD, world.device, &a.desc, &p.parts, &plan, &report);
    traffic.fail_alltoall = false;
    EXPECT(status == HEED_E_DEVICE && report.native_code == MPI_ERR_OTHER && !plan, "%s: %s",
           heed_status_name(status), report.message);
    EXPECT(strncmp(report.message, "MPI_Alltoall: ", 14) == 0, "%s", report.message);
    part_free(&p);
    attention_free(&a);
}

static void run_checks_before_it_moves(void)
{
    struct attention a;
    struct part p;
    heed_mpi_plan *plan;

    small_make(&a, &p);
    plan = plan_of(&a, &p);
    traffic = (struct traffic){ 0 };
    for (int i = 0; i < 4 && plan; i++) {
        heed_attn_args args = p.args;
        const heed_kv_bufs none = { p.kv[0].k, { NULL, 0 } };
        const bool wrong = world.rank == world.ranks - 1;
        const heed_status want = i == 3 ? HEED_E_VALUE : HEED_E_NULL;
        heed_status status;

        if (i == 1)
            args.q.handle = wrong ? NULL : args.q.handle;
        if (i == 2)
            args.kv = wrong ? &none : args.kv;
        if (i == 3)
            args.n_slots += wrong;
        memset(p.o, 0x5a, 8);
        status = heed_mpi_attn_run(plan, world.queue, i == 0 && wrong ? NULL : &args, &report);
        EXPECT(status == want, "run %d: %s: %s", i, heed_status_name(status), report.message);
        EXPECT(p.parts.n_rows == 0 || memcmp(p.o, "ZZZZZZZZ", 8) == 0, "run %d wrote", i);
        EXPECT(traffic.messages_out + traffic.messages_in == 0, "run %d moved something", i);
    }
    EXPECT(!plan || heed_mpi_attn_run(plan, world.queue, &p.args, &report) == HEED_OK, "%s",
           report.message);
    heed_mpi_plan_destroy(plan);
    EXPECT(heed_mpi_attn_plan(MPI_COMM_NULL, world.device, &a.desc, &p.parts, &plan, &report) ==
               HEED_E_NULL,
           "MPI_COMM_NULL");
    EXPECT(heed_mpi_plan_info(NULL, NULL) == HEED_E_NULL, "info of nothing");
    heed_mpi_plan_destroy(NULL);
    part_free(&p);
    attention_free(&a);
}

int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : 5;
    int ways[3];

    world_begin(&argc, &argv);
    for (int i = 0; i < cases * PATTERNS; i++)
        words_compare((uint64_t)(1 + i / PATTERNS), i % PATTERNS,
                      i / PATTERNS % 4 == 3 ? HEED_MPI_MOVE_KEYS : 0);
    MPI_Allreduce((int[3]){ rows_moved, keys_moved, keys_stayed }, ways, 3, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    EXPECT(world.ranks == 1 || (ways[0] > 0 && ways[1] > 0), "rows travelled %d times, keys %d",
           ways[0], ways[1]);
    EXPECT(world.ranks > 1 || ways[2] > 0, "keys stayed where they were %d times", ways[2]);
    several_sources_have_the_words_of_one_machine();
    nothing_to_see_is_legal();
    packed_items_of_two_axes_have_the_words_of_one_machine();
    what_is_wrong_with_packed_items_is_named();
    only_what_is_seen_moves(10, 16);
    only_what_is_seen_moves(100, 64);
    only_what_is_seen_moves(600, HEED_CHUNK);
    many_ranks_take_little_memory();
    a_model_of_causal_ranks_is_a_triangle();
    a_wrong_model_writes_nothing();
    for (int i = 0; i < MISTAKES; i++)
        every_rank_is_told(i);
    memory_that_lacks_is_everybodys(false);
    memory_that_lacks_is_everybodys(true);
    failures_of_mpi_are_statuses();
    run_checks_before_it_moves();
    return world_end();
}
