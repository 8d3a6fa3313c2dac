/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes count once, however often a kernel fetches them; single numbers, such as lengths and heads,
 * do not count.
 */
#include "bench/cost.h"

#include "common/types.h"

#include <heed/attn.h>

static const double index_bytes = 4, f32_bytes = 4;

static double element(const struct workload *load)
{
    return (double)type_find(load->dtype)->bytes / (double)type_elements(load->dtype);
}

static double heads(const struct workload *load)
{
    return (double)load->b * (double)load->h;
}

/* Elements of one tensor [b][h][n][d]. */
static double elements(const struct workload *load)
{
    return heads(load) * (double)load->n * (double)load->d;
}

static double blocks(const struct workload *load)
{
    return (double)((load->n - 1) / load->block + 1);
}

struct workload_cost cost_attention(const struct workload *load)
{
    const double n = (double)load->n;
    const double w = load->w < load->n - 1 ? (double)load->w : n - 1;
    const double rows = element(load) * (double)load->b * n * (double)load->d;
    double pairs = n * n;

    if (load->kind == WORKLOAD_CAUSAL)
        pairs = n * (n + 1) / 2;
    if (load->kind == WORKLOAD_WINDOW)
        pairs = n * (2 * w + 1) - w * (w + 1);
    return (struct workload_cost){
        .flops = 4 * (double)load->d * pairs * heads(load),
        .read = rows * (double)(load->h + 2 * load->hk),
        .written = rows * (double)load->h,
    };
}

int64_t workload_ragged(int64_t longest, int64_t count, int64_t item)
{
    const int64_t shorter = (longest / count + 5) * item;

    return longest > shorter ? longest - shorter : 1;
}

/* Of four items one prefills. */
enum { RAGGED_PREFILL = 4 };

int64_t workload_rows(int64_t n, int64_t item)
{
    return item % RAGGED_PREFILL == 0 ? n : 1;
}

int64_t workload_rows_before(int64_t n, int64_t item)
{
    const int64_t prefills = (item + RAGGED_PREFILL - 1) / RAGGED_PREFILL;

    return prefills * n + (item - prefills);
}

/* Rows of K and V count as often as lists name them: those are gathered. */
struct workload_cost cost_listed(const struct workload *load)
{
    const double lists = (double)((load->n - 1) / load->rows + 1);
    const double keys = (double)load->count * (double)load->run;
    const double row = element(load) * (double)load->d;

    return (struct workload_cost){
        .flops = 4 * (double)load->d * (double)load->n * keys * heads(load),
        .read = (double)load->b * (double)load->hk * lists *
                    (2 * keys * row + (double)load->count * index_bytes) +
                elements(load) * element(load),
        .written = elements(load) * element(load),
    };
}

/* A row of each item over the keys of all, which count once as bytes, and its own. */
struct workload_cost cost_prefix(const struct workload *load)
{
    const double row = element(load) * (double)load->d, items = (double)load->b;
    const double rows = row * heads(load);

    return (struct workload_cost){
        .flops = 4 * (double)load->d * (double)(load->keys + load->own) * heads(load),
        .read = rows + 2 * (double)load->hk * row *
                           ((double)load->keys + items * (double)load->own),
        .written = rows,
    };
}

/* Rows of i8 and i4 have scales of f32; beside keys of a byte and in blocks queries are f32. */
struct workload_cost cost_decode(const struct workload *load)
{
    const bool scaled = workload_scaled(load);
    const double rows =
        (workload_bytes(load) ? f32_bytes : element(load)) * heads(load) * (double)load->d;
    const double key = element(load) * (double)load->d + (scaled ? f32_bytes : 0);
    double keys = 0;

    for (int64_t item = 0; item < load->b; item++)
        keys += (double)workload_ragged(load->keys, load->b, item);
    return (struct workload_cost){
        .flops = 4 * (double)load->d * keys * (double)load->h,
        .read = 2 * keys * (double)load->hk * key + rows,
        .written = rows,
    };
}

/* The rows of an item are its last positions, each of which sees itself and all before it. */
struct workload_cost cost_ragged(const struct workload *load)
{
    const bool scaled = workload_scaled(load);
    const double row =
        (workload_bytes(load) ? f32_bytes : element(load)) * (double)load->h * (double)load->d;
    const double key = element(load) * (double)load->d + (scaled ? f32_bytes : 0);
    const double rows = (double)workload_rows_before(load->n, load->b);
    double keys = 0, pairs = 0;

    for (int64_t item = 0; item < load->b; item++) {
        const double n = (double)workload_rows(load->n, item);
        const double len = (double)workload_ragged(load->keys, load->b, item);

        keys += len;
        pairs += n * (len - n) + n * (n + 1) / 2;
    }
    return (struct workload_cost){
        .flops = 4 * (double)load->d * pairs * (double)load->h,
        .read = 2 * keys * (double)load->hk * key + rows * row,
        .written = rows * row,
    };
}

/* The last n of `keys` positions, each of which sees itself and up to w before it. */
struct workload_cost cost_prefill_chunk(const struct workload *load)
{
    const double n = (double)load->n, old = (double)(load->keys - load->n), w = (double)load->w;
    const double rows = element(load) * (double)load->b * (double)load->d;
    const double whole = w < old ? n : w < old + n ? old + n - w : 0;   /* rows with w before */
    const double few = n - whole;
    const double pairs = whole * (w + 1) + few * (old + 1) + few * (few - 1) / 2;
    const double seen = w < old ? w + n : old + n;

    return (struct workload_cost){
        .flops = 4 * (double)load->d * pairs * heads(load),
        .read = rows * (n * (double)load->h + 2 * seen * (double)load->hk),
        .written = rows * n * (double)load->h,
    };
}

/* Every set of keys and values is read once; a pattern that cannot be made costs nothing. */
struct workload_cost cost_mechanism(const struct workload *load)
{
    struct workload_cost cost = { 0 };
    const double row = element(load) * (double)load->b * (double)load->d;
    struct pattern pattern;

    if (pattern_make(&load->pattern, &pattern, NULL) < 0)
        return cost;
    cost.written = row * (double)load->h * (double)pattern.m.desc.q.shape[2];
    cost.read = cost.written;
    for (uint32_t i = 0; i < pattern.n_sets; i++)
        cost.read += 2 * row * (double)load->hk * (double)pattern.sets[i].shape[2];
    pattern_free(&pattern);
    return cost;
}

/* Every array is read once; what stages hand on is not counted. Plans say the operations. */
struct workload_cost cost_program(const struct workload *load)
{
    const double row = element(load) * (double)load->b * (double)load->d, n = (double)load->n;
    struct workload_cost cost = {
        .read = row * ((double)load->h * n + 2 * (double)load->hk * (n + (double)load->globals)),
        .written = row * (double)load->h * n,
    };

    if (load->kind == WORKLOAD_POOLINGFORMER2_LDCONV)
        cost.read += 2 * element(load) * (double)load->b * (double)load->hk * n *
                     (double)load->kernel;
    return cost;
}

struct workload_cost cost_copy(const struct workload *load)
{
    const double rows = element(load) * elements(load);
    double indices = 0;

    if (load->kind == WORKLOAD_COPY_PAGED)
        indices = (double)((load->n - 1) / load->page + 1);
    else if (load->kind != WORKLOAD_COPY)
        indices = (double)load->n;
    return (struct workload_cost){
        .read = rows + index_bytes * indices * (double)load->b, .written = rows,
    };
}

int64_t workload_pool_rows(const struct workload *load)
{
    return load->n < load->kernel ? 0 : (load->n - load->kernel) / load->stride + 1;
}

/* Tokens that lie in some window. */
static double pool_tokens(const struct workload *load)
{
    const double rows = (double)workload_pool_rows(load), kernel = (double)load->kernel;

    if (load->stride >= load->kernel)
        return rows * kernel;
    return rows > 0 ? (rows - 1) * (double)load->stride + kernel : 0;
}

struct workload_cost cost_pool_window(const struct workload *load)
{
    const double rows = (double)workload_pool_rows(load), tokens = pool_tokens(load);
    const double d = (double)load->d, each = element(load) * heads(load);
    double weights = 0;

    if (load->kind == WORKLOAD_POOL_LINEAR || load->kind == WORKLOAD_POOL_WEIGHTED)
        weights = tokens;
    if (load->kind == WORKLOAD_POOL_DYNAMIC)
        weights = rows * (double)load->kernel;
    return (struct workload_cost){
        .read = each * (tokens * d + weights), .written = each * rows * d,
    };
}

struct workload_cost cost_pool_bucket(const struct workload *load)
{
    const double rows = blocks(load) * (double)load->buckets;

    return (struct workload_cost){
        .read = element(load) * elements(load) + index_bytes * heads(load) * (double)load->n,
        .written = element(load) * heads(load) * rows * (double)load->d,
    };
}

struct workload_cost cost_norm(const struct workload *load)
{
    return (struct workload_cost){
        .read = element(load) * elements(load),
        .written = index_bytes * heads(load) * blocks(load) * (double)load->count,
    };
}

struct workload_cost cost_topk(const struct workload *load)
{
    const double scores = heads(load) * (double)load->queries * (double)load->n;
    const double rows = (double)load->n * (double)load->hk
                      + (double)load->queries * (double)load->h;

    return (struct workload_cost){
        .flops = 2 * (double)load->d * scores,
        .read = element(load) * (double)load->b * rows * (double)load->d,
        .written = index_bytes * heads(load) * (double)load->queries * (double)load->count,
    };
}

/* Operations of round 0; how many sums the later one hashes is for the data to say. */
struct workload_cost cost_hash(const struct workload *load)
{
    const double first = (double)(load->block / 2), last = (double)(load->buckets / 2);

    return (struct workload_cost){
        .flops = 2 * first * elements(load),
        .read = element(load) * elements(load) + f32_bytes * (double)load->d * (first + last),
        .written = index_bytes * heads(load) * (double)load->n,
    };
}

/* The memory is full: as many rows fall out as come in, from it as long as it has some. */
struct workload_cost cost_push(const struct workload *load)
{
    const double of_memory = (double)(load->n < load->rows ? load->n : load->rows);
    const double bytes = element(load) * heads(load) * ((double)load->n + of_memory)
                       * (double)load->d;

    return (struct workload_cost){ .read = bytes, .written = bytes };
}

struct workload_cost cost_merge(const struct workload *load)
{
    const double part = element(load) * elements(load)
                      + f32_bytes * heads(load) * (double)load->n;

    return (struct workload_cost){ .read = (double)load->parts * part, .written = part };
}

/* States are f32, whatever o is. */
struct workload_cost cost_state(const struct workload *load)
{
    const double rows = heads(load) * (double)load->n;

    return (struct workload_cost){
        .read = (double)load->parts * f32_bytes * rows * (double)(HEED_STATE_SUMS + load->d),
        .written = element(load) * elements(load) + f32_bytes * rows,
    };
}

/* x and what it is added to, y and the sum; the vectors stay in caches. */
struct workload_cost cost_rows_norm(const struct workload *load)
{
    const double rows = element(load) * elements(load) * (load->residual ? 2 : 1);

    return (struct workload_cost){ .read = rows + f32_bytes * (double)load->d, .written = rows };
}

/* The tables are read once for all heads. */
struct workload_cost cost_rope(const struct workload *load)
{
    const double rows = element(load) * elements(load);

    return (struct workload_cost){
        .read = rows + 2 * f32_bytes * (double)load->n * (double)(load->d / 2), .written = rows
    };
}

/* An array in, of a gated unit two, and one out. */
struct workload_cost cost_act(const struct workload *load)
{
    const double rows = element(load) * elements(load);

    return (struct workload_cost){ .read = (load->gated ? 2 : 1) * rows, .written = rows };
}

/* A number of the state decays, takes a product in and gives one, and with DELTA gives one more. */
struct workload_cost cost_recur(const struct workload *load)
{
    const bool delta = load->kind == WORKLOAD_RECUR_DELTA;
    const double d = (double)load->d, state = f32_bytes * heads(load) * d * d;
    const double rows = element(load) * elements(load);
    const double keys = 2 * rows * (double)load->hk / (double)load->h;
    const double factors = (delta ? 2 : 1) * f32_bytes * heads(load) * (double)load->n;

    return (struct workload_cost){
        .flops = (delta ? 7 : 5) * d * elements(load),
        .read = keys + rows + factors + state,
        .written = rows + state,
    };
}

/* Of the table so many rows as there are ids at most; with a sum also positions, and two types. */
struct workload_cost cost_embed(const struct workload *load)
{
    const double ids = (double)load->b * (double)load->n;
    const double row = element(load) * (double)load->d;
    double rows = ids < (double)load->rows ? ids : (double)load->rows;
    double lists = 1;

    if (load->kind == WORKLOAD_EMBED_SUM) {
        rows += (double)load->n + 2;
        lists = 2;
    }
    return (struct workload_cost){
        .read = row * rows + index_bytes * ids * lists,
        .written = element(load) * elements(load),
    };
}

/* Ids in, order, places and starts out. */
struct workload_cost cost_order(const struct workload *load)
{
    const double tokens = index_bytes * heads(load) * (double)load->n;

    return (struct workload_cost){
        .read = tokens,
        .written = 2 * tokens + index_bytes * heads(load) * (double)(load->buckets + 1),
    };
}

/* The weights are read once for all rows. */
struct workload_cost cost_linear(const struct workload *load)
{
    const double outputs = heads(load) * (double)load->n * (double)load->out;
    const double weights = element(load) * (double)load->d * (double)load->out;
    const double rows = type_elements(load->dtype) > 1 ? f32_bytes : element(load);

    return (struct workload_cost){
        .flops = 2 * (double)load->d * outputs,
        .read = rows * elements(load) + weights + f32_bytes * (double)load->out,
        .written = rows * outputs,
    };
}

struct workload_cost cost_gate(const struct workload *load)
{
    const double rows = element(load) * elements(load);

    return (struct workload_cost){ .read = 3 * rows, .written = rows };
}
