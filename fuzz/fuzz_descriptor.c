/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Raw bytes as a descriptor, its nested arrays and constant slots, into check and plan. Every array
 * is as long as the descriptor says, in memory of exactly that size. Promised and asked for here:
 * a documented status, the same from check and plan and on every device; a report that is complete;
 * what is accepted spans less than 2^63 bytes and outputs keep their elements apart; inputs
 * unchanged; memory bounded and given back, also when an allocation fails.
 *
 * An input is one byte of options, one that says which allocation fails (0: none), the descriptor,
 * the sources, of each its terms and biases, the slots, of each its data. A pointer counts as NULL
 * or not; sizes and element sizes are made small.
 */
#include "fuzz.h"
#include "memory.h"
#include "produce.h"

#include "conform/ops/attn/attn.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOURCE_LEAST = offsetof(heed_source, k_scale_slot),    /* the first version of a source */
    COUNT_MOST = 80,            /* elements of an array that is there: more than heed takes */
    SPAN_MOST = 1 << 16,        /* bytes of constant data */
    BLOCKS = 2 + 2 * COUNT_MOST + COUNT_MOST,
    INJECTIVE_MOST = 4096       /* elements of outputs that are compared one by one */
};

enum { OPTION_REPORT = 3, OPTION_NO_OUT = 4, OPTION_NO_DEVICE = 8, OPTION_NO_DESC = 16 };

struct block {
    void *memory;
    size_t size;
    uint64_t hash;
};

static struct {
    struct fuzz_heap heap;
    heed_runtime *runtime;
    heed_device *devices[MAX_HOST_DEVICES];
    uint32_t n_devices;

    struct rng bytes;
    struct block blocks[BLOCKS];
    uint32_t n_blocks;
    heed_attn_desc *desc;
    heed_source sources[COUNT_MOST];    /* as heed may see them, to judge it */
    heed_slot slots[COUNT_MOST];
} w;

static void world_start(void)
{
    const heed_allocator allocator = fuzz_heap_hook(&w.heap);
    const heed_executor executor = { .size = sizeof(executor), .width = 1 };
    const heed_runtime_desc desc = { .size = sizeof(desc), .allocator = &allocator,
                                     .executor = &executor };

    if (w.runtime)
        return;
    w.heap.cap = UINT64_C(256) << 20;
    FUZZ_REQUIRE(heed_runtime_create(&desc, &w.runtime, NULL) == HEED_OK, "no runtime");
    w.n_devices = cf_host_devices(w.runtime, w.devices);
    cf_op_use(cf_ops[0]);
}

/* ---- building ----------------------------------------------------------- */

/* Memory of exactly that size, filled from the input. */
static void *block_take(size_t size)
{
    uint8_t *memory = malloc(size ? size : 1);

    FUZZ_REQUIRE(memory && w.n_blocks < BLOCKS, "no memory for the target");
    for (size_t i = 0; i < size; i++)
        memory[i] = fuzz_byte(&w.bytes);
    w.blocks[w.n_blocks++] = (struct block){ .memory = memory, .size = size };
    return memory;
}

/* Sizes a little beyond the known one are as interesting as it gets. */
static uint32_t small_size(uint32_t size, size_t known)
{
    return size <= known + 64 ? size : (uint32_t)known + size % 64;
}

/* The array a descriptor names: NULL, of so many elements, or of none when they are too many. */
static const void *array_take(const void *given, uint32_t count, uint32_t *size, size_t known)
{
    *size = small_size(*size, known);
    return given ? block_take(count <= COUNT_MOST ? (size_t)count * *size : 0) : NULL;
}

/* Elements as heed reads them: longer ones are cut, shorter ones end with zeros. */
static void elements_copy(void *to, const void *from, uint32_t count, uint32_t size, size_t known)
{
    memset(to, 0, count * known);
    for (uint32_t i = 0; i < count; i++)
        memcpy((char *)to + i * known, (const char *)from + (size_t)i * size, least(size, known));
}

/* The caller's elements lie at any multiple of their size. */
static void element_put(const void *array, uint32_t i, uint32_t size, const void *from,
                        size_t known)
{
    memcpy((char *)(uintptr_t)array + (size_t)i * size, from, least(size, known));
}

static void sources_take(void)
{
    heed_attn_desc *d = w.desc;
    const size_t known = sizeof(heed_source);

    d->sources = array_take(d->sources, d->n_sources, &d->source_size, known);
    if (!d->sources || d->n_sources > COUNT_MOST || d->source_size < SOURCE_LEAST)
        return;
    elements_copy(w.sources, d->sources, d->n_sources, d->source_size, known);
    for (uint32_t i = 0; i < d->n_sources; i++) {
        heed_source *s = &w.sources[i];

        s->terms = array_take(s->terms, s->n_terms, &s->term_size, sizeof(heed_term));
        s->biases = array_take(s->biases, s->n_biases, &s->bias_size, sizeof(heed_bias));
        element_put(d->sources, i, d->source_size, s, known);
    }
}

/* Data of a slot, its last byte the last of its memory; low bits of the pointer shift it. NULL
 * when that would be much, unless the copy alone is more than there is. */
static const void *data_take(const heed_slot *slot)
{
    const size_t shift = (uintptr_t)slot->data & 7;
    int64_t low, high, n;

    if (!slot->data || !fuzz_extent(&slot->t, &low, &high) || high - low > SPAN_MOST)
        return NULL;
    n = fuzz_count(&slot->t, INT64_MAX / 8);
    if (n > SPAN_MOST && n < (INT64_C(512) << 20))
        return NULL;
    return (const uint8_t *)block_take((size_t)(high - low) + shift) + shift - low;
}

static void slots_take(void)
{
    heed_attn_desc *d = w.desc;
    const size_t known = sizeof(heed_slot);

    d->slots = array_take(d->slots, d->n_slots, &d->slot_size, known);
    if (!d->slots || d->n_slots > COUNT_MOST || d->slot_size < known)
        return;
    elements_copy(w.slots, d->slots, d->n_slots, d->slot_size, known);
    for (uint32_t i = 0; i < d->n_slots; i++) {
        w.slots[i].data = data_take(&w.slots[i]);
        element_put(d->slots, i, d->slot_size, &w.slots[i], known);
    }
}

static void desc_take(void)
{
    struct rng peek = w.bytes;
    const uint32_t size = small_size((uint32_t)fuzz_word(&peek, 4), sizeof(heed_attn_desc));

    w.n_blocks = 0;
    w.desc = block_take(size < 4 ? 4 : size);
    memcpy(w.desc, &size, 4);
    if (size < offsetof(heed_attn_desc, state_in))
        return;
    sources_take();
    slots_take();
}

static void blocks_hash(bool verify)
{
    for (uint32_t i = 0; i < w.n_blocks; i++) {
        struct block *b = &w.blocks[i];
        const uint64_t hash = fuzz_hash(0, b->memory, b->size);

        FUZZ_REQUIRE(!verify || hash == b->hash, "the caller's block %u was written", i);
        b->hash = hash;
    }
}

/* ---- judging ------------------------------------------------------------ */

static void status_judge(heed_status status, bool plan)
{
    static const heed_status documented[] = {
        HEED_OK, HEED_R_COMPOSED, HEED_E_NULL, HEED_E_SIZE, HEED_E_NEWER, HEED_E_FLAG,
        HEED_E_VALUE, HEED_E_SHAPE, HEED_E_DTYPE, HEED_E_STRIDE, HEED_E_OVERFLOW, HEED_E_ALIGN,
        HEED_E_AMBIGUOUS, HEED_E_INDEX, HEED_E_UNSUPPORTED, HEED_E_NOMEM,
    };
    bool found = false;

    for (size_t i = 0; i < sizeof(documented) / sizeof(*documented); i++)
        found |= status == documented[i];
    FUZZ_REQUIRE(found, "%s answers %s", plan ? "plan" : "check", heed_status_name(status));
}

static bool is_text(const char *text, size_t size)
{
    const char *end = memchr(text, 0, size);

    return end && !memchr(text, '\n', (size_t)(end - text));
}

static void report_judge(const heed_report *report, heed_status status)
{
    static const heed_report good = { .size = sizeof(good) };

    FUZZ_REQUIRE(report->status == status, "the report says %d, the call %d", report->status,
                 status);
    FUZZ_REQUIRE(is_text(report->field, sizeof(report->field)), "field is no line");
    FUZZ_REQUIRE(is_text(report->message, sizeof(report->message)), "message is no line");
    if (status == HEED_OK)
        FUZZ_REQUIRE(memcmp(report, &good, sizeof(good)) == 0, "a report of success is not zero");
    else
        FUZZ_REQUIRE(status > 0 || report->message[0], "%s without a message",
                     heed_status_name(status));
}

/* Products of extents and bytes spanned stay below 2^63. */
static void extent_judge(const heed_tensor *t, const char *name)
{
    int64_t low, high, product = 1;

    FUZZ_REQUIRE(t->ndim <= 6, "%s has %u axes", name, t->ndim);
    FUZZ_REQUIRE(fuzz_extent(t, &low, &high), "%s was accepted", name);
    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t extent = t->shape[i] ? t->shape[i] : 1;

        FUZZ_REQUIRE(extent <= INT64_MAX / product, "%s: a product was accepted", name);
        product *= extent;
    }
}

static int offsets_order(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void injective_judge(const heed_tensor *t, const char *name)
{
    static int64_t offsets[INJECTIVE_MOST];
    const int64_t n = fuzz_count(t, INJECTIVE_MOST);

    for (int64_t i = 0; i < n; i++)
        offsets[i] = fuzz_offset(t, i);
    if (n > 1)
        qsort(offsets, (size_t)n, sizeof(*offsets), offsets_order);
    for (int64_t i = 1; i < n; i++)
        FUZZ_REQUIRE(offsets[i] != offsets[i - 1], "%s maps two elements to one address", name);
}

static void slot_judge(uint32_t slot, const char *name)
{
    if (slot == 0)
        return;
    FUZZ_REQUIRE(slot <= w.desc->n_slots, "%s names slot %u of %u", name, slot, w.desc->n_slots);
    extent_judge(&w.slots[slot - 1].t, name);
}

static void source_judge(const heed_source *s)
{
    extent_judge(&s->k, "k");
    extent_judge(&s->v, "v");
    slot_judge(s->slot, "source.slot");
    slot_judge(s->len_slot, "source.len_slot");
    slot_judge(s->mask_slot, "source.mask_slot"), slot_judge(s->row_mask_slot, "row_mask_slot");
    for (uint32_t i = 0; i < s->n_terms; i++) {
        heed_term term;

        memcpy(&term, (const char *)s->terms + (size_t)i * s->term_size, sizeof(term));
        slot_judge(term.slot, "term.slot");
    }
    for (uint32_t i = 0; i < s->n_biases; i++) {
        heed_bias bias = { 0 };
        memcpy(&bias, (const char *)s->biases + (size_t)i * s->bias_size, sizeof(bias));
        slot_judge(bias.t, "bias.t");
        slot_judge(bias.u, "bias.u");
        slot_judge(bias.map, "bias.map");
        slot_judge(bias.q_coord, "bias.q_coord");
        slot_judge(bias.k_coord, "bias.k_coord");
    }
}

static void accepted_judge(void)
{
    const heed_attn_desc *d = w.desc;

    extent_judge(&d->q, "q");
    extent_judge(&d->o, "o");
    injective_judge(&d->o, "o");
    if (d->lse.ndim) {
        extent_judge(&d->lse, "lse");
        injective_judge(&d->lse, "lse");
    }
    if (d->sinks.ndim)
        extent_judge(&d->sinks, "sinks");
    for (uint32_t i = 0; i < d->n_sources; i++)
        source_judge(&w.sources[i]);
    slot_judge(d->q_slot, "q_slot"), slot_judge(d->o_slot, "o_slot");
    slot_judge(d->q_len_slot, "q_len_slot");
    slot_judge(d->q_pos_slot, "q_pos_slot");
}

/* ---- calling ------------------------------------------------------------ */

/* A report of the caller's: none, of the first version, too small, longer. */
struct report_room {
    heed_report report;
    uint8_t beyond[32];
};

static heed_report *report_start(struct report_room *room, uint8_t options)
{
    static const uint32_t sizes[] = {
        sizeof(heed_report), sizeof(heed_report), sizeof(heed_report) - 8,
        sizeof(heed_report) + 24,
    };

    memset(room, 0xa5, sizeof(*room));
    room->report.size = sizes[options & OPTION_REPORT];
    return (options & OPTION_REPORT) == 1 ? NULL : &room->report;
}

static void report_finish(struct report_room *room, uint8_t options, heed_status status)
{
    struct report_room clean;

    (void)report_start(&clean, options);
    FUZZ_REQUIRE(room->report.size == clean.report.size, "the report's size was written");
    FUZZ_REQUIRE(memcmp(room->beyond + 24, clean.beyond + 24, 8) == 0, "written past the report");
    switch (options & OPTION_REPORT) {
    case 1:
    case 2:
        FUZZ_REQUIRE(memcmp(room, &clean, sizeof(clean)) == 0, "a short report was written");
        break;
    default:
        room->report.size = sizeof(heed_report);
        report_judge(&room->report, status);
        break;
    }
}

struct answers {
    heed_status check, plan;
    bool refused;               /* an allocation failed */
};

static struct answers device_ask(heed_device *device, uint8_t options, uint8_t fail_at)
{
    const heed_attn_desc *desc = options & OPTION_NO_DESC ? NULL : w.desc;
    const uint64_t live = w.heap.live, refused = w.heap.refused;
    struct report_room room;
    struct answers answers;
    heed_plan *plan = NULL;

    w.heap.fail_at = fail_at;
    answers.check = heed_attn_check(device, desc, report_start(&room, options));
    report_finish(&room, options, answers.check);
    status_judge(answers.check, false);
    FUZZ_REQUIRE(w.heap.live == live, "check kept memory");

    w.heap.fail_at = fail_at;
    answers.plan = heed_attn_plan(device, desc, options & OPTION_NO_OUT ? NULL : &plan,
                                  report_start(&room, options));
    w.heap.fail_at = 0;
    report_finish(&room, options, answers.plan);
    status_judge(answers.plan, true);
    FUZZ_REQUIRE((answers.plan >= 0) == (plan != NULL), "plan answers %s",
                 heed_status_name(answers.plan));
    if (plan) {
        heed_plan_props props = { .size = sizeof(props) };

        FUZZ_REQUIRE(heed_plan_info(plan, &props) == HEED_OK, "no properties of a plan");
        FUZZ_REQUIRE(props.host_bytes <= w.heap.live - live, "a plan holds less than it says");
        FUZZ_REQUIRE(props.workspace_align > 0 &&
                         (props.workspace_align & (props.workspace_align - 1)) == 0,
                     "workspace_align is no power of two");
    }
    heed_plan_drop(plan);
    FUZZ_REQUIRE(w.heap.live == live, "a plan left memory");
    answers.refused = w.heap.refused != refused;
    return answers;
}

static void answers_judge(const struct answers *a, uint8_t options)
{
    FUZZ_REQUIRE(a->check == a->plan || ((options & OPTION_NO_DEVICE) && a->plan == HEED_E_NULL) ||
                     ((a->refused || (options & OPTION_NO_OUT)) &&
                      (a->plan < 0 || a->check == HEED_E_NOMEM)),
                 "check says %s, plan %s", heed_status_name(a->check), heed_status_name(a->plan));
}

/* Others than the reference may refuse what has more strips or workspace than they can number. */
static bool is_vast(uint32_t device, heed_status status)
{
    heed_report report = { .size = sizeof(report) };

    w.heap.fail_at = 0;
    return status == HEED_E_UNSUPPORTED &&
           heed_attn_check(w.devices[device], w.desc, &report) == status &&
           strstr(report.message, "more than the device can number") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answers answers[MAX_HOST_DEVICES], *const known = &answers[0];
    uint8_t options, fail_at;

    if (size > FUZZ_INPUT_MOST)
        return 0;
    world_start();
    w.bytes = rng_of_bytes(data, size);
    options = fuzz_byte(&w.bytes);
    fail_at = fuzz_byte(&w.bytes);
    desc_take();
    blocks_hash(false);
    for (uint32_t i = 0; i < w.n_devices; i++) {
        answers[i] = device_ask(options & OPTION_NO_DEVICE ? NULL : w.devices[i], options, fail_at);
        blocks_hash(true);
        answers_judge(&answers[i], options);
        if (answers[i].check >= 0)
            accepted_judge();
    }
    for (uint32_t i = 0; i < w.n_devices; i++) {
        if (!known->refused && !answers[i].refused)
            FUZZ_REQUIRE(known->check == answers[i].check || is_vast(i, answers[i].check),
                         "reference says %s, device %u %s", heed_status_name(known->check), i,
                         heed_status_name(answers[i].check));
    }
    for (uint32_t i = 0; i < w.n_blocks; i++)
        free(w.blocks[i].memory);
    return 0;
}

/* ---- seeds -------------------------------------------------------------- */

struct seed {
    uint8_t *data;
    size_t size;                /* beyond FUZZ_INPUT_MOST: it did not fit */
};

static void seed_put(struct seed *s, const void *bytes, size_t size)
{
    if (size && s->size + size <= FUZZ_INPUT_MOST)
        memcpy(s->data + s->size, bytes, size);
    s->size += size;
}

static void slots_put(struct seed *s, struct call *call)
{
    static uint8_t memory[FUZZ_INPUT_MOST];
    int64_t low, high;

    for (uint32_t i = 0; i < call->desc.n_slots; i++) /* low bits that shift nothing */
        call->slot[i].data = call->slot[i].data ? (const void *)(uintptr_t)16 : NULL;
    seed_put(s, call->slot, call->desc.n_slots * sizeof(*call->slot));
    for (uint32_t i = 0; i < call->desc.n_slots; i++) {
        if (!call->slot[i].data || !fuzz_extent(&call->slot[i].t, &low, &high))
            continue;
        if (high - low <= FUZZ_INPUT_MOST)
            fuzz_fill(memory, (size_t)(high - low), &call->aux[i]);
        seed_put(s, memory, (size_t)(high - low));
    }
}

static void call_put(struct seed *s, struct call *call)
{
    seed_put(s, &call->desc, sizeof(call->desc));
    seed_put(s, call->source, call->desc.n_sources * sizeof(*call->source));
    for (uint32_t i = 0; i < call->desc.n_sources; i++) {
        seed_put(s, call->term[i], call->source[i].n_terms * sizeof(**call->term));
        seed_put(s, call->bias[i], call->source[i].n_biases * sizeof(**call->bias));
    }
    slots_put(s, call);
}

/* What the producer makes of random bytes, written out. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static struct fuzz_case c;
    struct rng numbers = rng_of(number);
    struct seed seed = { .data = data };
    uint8_t random[256];
    bool wanted;

    for (size_t i = 0; i < sizeof(random); i++)
        random[i] = fuzz_byte(&numbers);
    random[0] = 0; /* attention */
    world_start();
    fuzz_case_make(&c, w.devices[0], random, sizeof(random));
    wanted = (heed_attn_check(w.devices[0], c.job->desc, NULL) >= 0) != (number % 4 == 3);
    seed_put(&seed, (const uint8_t[2]){ 0, number % 8 == 0 ? (uint8_t)(number / 8 % 16) : 0 }, 2);
    call_put(&seed, cf_call_of(c.job));
    fuzz_case_finish(&c);
    return wanted && seed.size <= FUZZ_INPUT_MOST ? seed.size : 0;
}
