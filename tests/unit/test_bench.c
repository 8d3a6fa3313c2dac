/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-bench: workloads as text, the closed forms of their work and bytes, order statistics.
 */
#include "bench/timing.h"
#include "bench/workload.h"

#include <heed/heed.h>

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct workload parsed(const char *text)
{
    struct workload load = { 0 };
    char why[192] = "";

    ck_assert_msg(workload_parse(text, &load, why, sizeof why), "%s: %s", text, why);
    return load;
}

/* Counts the pairs one by one. */
static double counted_flops(const struct workload *load)
{
    double pairs = 0;

    for (int64_t q = 0; q < load->n; q++) {
        for (int64_t k = 0; k < load->n; k++) {
            const int64_t distance = q > k ? q - k : k - q;

            pairs += load->kind == WORKLOAD_DENSE
                  || (load->kind == WORKLOAD_CAUSAL && k <= q)
                  || (load->kind == WORKLOAD_WINDOW && distance <= load->w);
        }
    }
    return 4.0 * (double)load->d * pairs * (double)load->h * (double)load->b;
}

/* A chunk of queries at the end of a cache. */
TEST(chunks_of_prefill_equal_counting)
{
    static const int sizes[][3] = { { 1, 1, 0 }, { 3, 9, 2 }, { 3, 9, 6 }, { 3, 9, 7 },
                                    { 3, 9, 100 }, { 9, 9, 4 }, { 5, 8, 0 } };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int n = sizes[i][0], keys = sizes[i][1], w = sizes[i][2];
        int pairs = 0, first = keys;
        struct workload load;
        char text[64];

        for (int q = keys - n; q < keys; q++) {
            for (int k = 0; k <= q; k++) {
                pairs += q - k <= w;
                first = q - k <= w && k < first ? k : first;
            }
        }
        snprintf(text, sizeof text, "prefill-chunk:n=%d,keys=%d,w=%d,h=4,hk=2,d=3", n, keys, w);
        load = parsed(text);
        ck_assert_double_eq(workload_cost(&load).flops, 4.0 * 3 * 4 * pairs);
        ck_assert_double_eq(workload_cost(&load).read, 4.0 * 3 * (n * 4 + 2 * 2 * (keys - first)));
    }
}

TEST(items_of_decode_are_ragged)
{
    const struct workload load = parsed("decode:b=3,keys=100,h=4,hk=2,d=3,dtype=f16");
    const int64_t rows = 100 + 62 + 24;

    ck_assert_double_eq(workload_cost(&load).flops, (double)(4 * 3 * 4 * rows));
    ck_assert_double_eq(workload_cost(&load).read, (double)(2 * 3 * (2 * 2 * rows + 3 * 4)));
    ck_assert_int_eq(workload_ragged(4, 9, 8), 1);
}

/* One item of four prefills, the others have one row; rows are the last positions. */
TEST(items_of_ragged_have_rows_at_the_end)
{
    const struct workload load = parsed("ragged:b=6,keys=100,n=7,h=4,hk=2,d=3,dtype=f16");
    int pairs = 0, keys = 0, rows = 0;

    for (int item = 0; item < 6; item++) {
        const int len = (int)workload_ragged(100, 6, item), n = item == 0 || item == 4 ? 7 : 1;

        ck_assert_int_eq(workload_rows(7, item), n);
        ck_assert_int_eq(workload_rows_before(7, item), rows);
        for (int q = len - n; q < len; q++)
            pairs += q + 1;
        keys += len;
        rows += n;
    }
    ck_assert_double_eq(workload_cost(&load).flops, (double)(4 * 3 * 4 * pairs));
    ck_assert_double_eq(workload_cost(&load).read, (double)(2 * 3 * (2 * 2 * keys + 4 * rows)));
    ck_assert_double_eq(workload_cost(&load).written, (double)(2 * 3 * 4 * rows));
}

/* Each row of K and V has a scale of 4 bytes; q and o are f32. */
TEST(caches_of_bytes_have_scales)
{
    const struct workload load = parsed("decode:keys=100,h=4,hk=2,d=3,dtype=i8");

    ck_assert_double_eq(workload_cost(&load).flops, (double)(4 * 3 * 4 * 100));
    ck_assert_double_eq(workload_cost(&load).read, (double)(2 * 2 * 100 * (3 + 4) + 4 * 3 * 4));
    ck_assert_double_eq(workload_cost(&load).written, (double)(4 * 3 * 4));
}

TEST(closed_forms_equal_counting)
{
    static const char *const texts[] = {
        "dense:n=%d,d=3", "causal:n=%d,h=2,d=5,b=3", "window:n=%d,w=0", "window:n=%d,w=1,h=3",
        "window:n=%d,w=4,d=1", "window:n=%d,w=7", "window:n=%d,w=1000",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int n = 1; n <= 9; n++) {
            struct workload load;
            char text[64];

            snprintf(text, sizeof text, texts[i], n);
            load = parsed(text);
            ck_assert_msg(!(workload_cost(&load).flops < counted_flops(&load))
                          && !(workload_cost(&load).flops > counted_flops(&load)),
                          "%s: got %.0f, wanted %.0f", text, workload_cost(&load).flops,
                          counted_flops(&load));
        }
    }
}

static void ck_assert_reads_back(const char *text)
{
    const struct workload a = parsed(text), b = parsed(a.text);
    int64_t of_a, of_b;

    ck_assert_str_eq(a.text, b.text);
    ck_assert(a.kind == b.kind && a.dtype == b.dtype);
    for (size_t i = 0; workload_number(&a, i, &of_a) != NULL; i++) {
        ck_assert_str_eq(workload_number(&a, i, &of_a), workload_number(&b, i, &of_b));
        ck_assert_int_eq(of_a, of_b);
    }
}

TEST(canonical_text_reads_back)
{
    static const char *const texts[] = {
        "dense:dtype=bf16,d=80,n=33", "window:w=9,n=77,h=8,hk=2,b=3", "causal:dtype=f16,h=6,hk=1",
        "pool-max:stride=1,kernel=7", "push:rows=8,n=100", "push:rows=100,n=8", "merge:parts=1",
        "select-topk:queries=1,count=100,n=5,h=4,hk=2", "pool-dynamic:stride=9,kernel=4,dtype=f16",
        "decode:dtype=i8,page=16", "decode:dtype=f8e4m3", "ragged:dtype=i4,n=9",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_reads_back(texts[i]);
    for (size_t i = 0; workload_kind_name(i) != NULL; i++)
        ck_assert_reads_back(workload_kind_name(i));
    ck_assert_str_eq(parsed("window:n=64").text, "window:n=64,h=1,d=64,b=1,w=256,dtype=f32");
    ck_assert_str_eq(parsed("causal:h=6,hk=1,dtype=f16").text,
                     "causal:n=4096,h=6,hk=1,d=64,b=1,dtype=f16");
}

TEST(wrong_workloads_are_refused_with_a_reason)
{
    static const char *const texts[] = {
        "", "dens", "dense:", "dense:n", "dense:n=", "dense:n=0", "dense:n=-1", "dense:n=1x",
        "dense:n= 1", "dense:n=99999999999999999999", "dense:q=1", "dense:w=1", "causal:w=1",
        "window:w=-1", "prefill-chunk:n=9,keys=8",
        "ragged:n=9,keys=8", "decode:token=2", "decode:n=1",
        "dense:dtype=f64", "dense:dtype=i8", "dense:dtype=f8e4m3", "decode:dtype=u8",
        "dense:h=3,hk=2", "dense:n=1073741824,d=1048576",
        "dense:n=1,,d=1", "dense:n=+1",
        "copy:w=1", "copy:hk=1", "copy:page=16", "copy-paged:page=0", "pool-mean:kernel=8,n=7",
        "pool-mean:stride=0", "pool-bucket:kernel=2", "pool-max:block=8", "select-hash:block=3",
        "select-hash:buckets=5", "select-topk:h=3,hk=2", "select-norm:queries=2", "push:rows=0",
        "merge:parts=0", "merge:parts=4097", "pool", "select", "pool-mean:dtype=i32",
        "pool-dynamic:n=1073741824,kernel=16777216,stride=1", "push:rows=1073741824,d=1048576",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct workload load = { .n = 42 };
        char why[192] = "";

        ck_assert_msg(!workload_parse(texts[i], &load, why, sizeof why), "%s", texts[i]);
        ck_assert_msg(why[0] != '\0' && strchr(why, '\n') == NULL, "%s", texts[i]);
        ck_assert_int_eq(load.n, 42);
    }
}

static void ck_assert_moves(const char *text, double read, double written)
{
    const struct workload load = parsed(text);
    const struct workload_cost cost = workload_cost(&load);

    ck_assert_msg(!(cost.read < read) && !(cost.read > read), "%s reads %.0f, wanted %.0f", text,
                  cost.read, read);
    ck_assert_msg(!(cost.written < written) && !(cost.written > written),
                  "%s writes %.0f, wanted %.0f", text, cost.written, written);
}

TEST(bytes_are_what_must_be_moved)
{
    ck_assert_moves("copy:n=10,h=2,d=3,b=5", 1200, 1200);
    ck_assert_moves("copy:n=10,d=3,dtype=bf16", 60, 60);
    ck_assert_moves("copy-gather:n=10,h=2,d=3", 240 + 40, 240);
    ck_assert_moves("copy-scatter:n=10,h=2,d=3", 240 + 40, 240);
    ck_assert_moves("copy-paged:n=10,h=2,d=3,page=4", 240 + 12, 240);
    ck_assert_moves("pool-weighted:n=10,h=2,d=3,kernel=5", 2 * (120 + 40), 2 * 24);
    ck_assert_moves("pool-dynamic:n=10,h=2,d=3,kernel=4,stride=3", 2 * (120 + 48), 2 * 36);
    ck_assert_moves("pool-bucket:n=10,h=2,d=3,block=4,buckets=2", 2 * (120 + 40), 2 * 72);
    ck_assert_moves("select-norm:n=10,h=2,d=3,block=4,count=2", 240, 2 * 24);
    ck_assert_moves("select-topk:n=10,h=4,hk=2,d=3,queries=5,count=2", 240 + 240, 160);
    ck_assert_moves("select-hash:n=10,h=1,d=3,block=4,buckets=2", 120 + 36, 40);
    ck_assert_moves("push:n=10,h=2,d=3", 480, 480);
    ck_assert_moves("push:n=10,h=2,d=3,rows=4", 336, 336);
    ck_assert_moves("push:n=10,h=2,d=3,rows=40", 480, 480);
    ck_assert_moves("merge:n=10,h=2,d=3,parts=3", 3 * (240 + 80), 240 + 80);
    ck_assert_moves("state:n=10,h=2,d=3,parts=3,dtype=f16", 3 * 1680, 120 + 80);
    ck_assert_moves("dense:n=10,h=4,hk=2,d=3", 480 + 480, 480);
}

/* Marks the tokens of each window. */
TEST(pools_read_the_tokens_of_their_windows)
{
    for (int kernel = 1; kernel <= 9; kernel++) {
        for (int stride = 1; stride <= 11; stride++) {
            bool marked[9] = { false };
            int tokens = 0, rows = 0;
            char text[64];

            for (int first = 0; first + kernel <= 9; first += stride, rows++) {
                for (int i = 0; i < kernel; i++) {
                    tokens += !marked[first + i];
                    marked[first + i] = true;
                }
            }
            snprintf(text, sizeof text, "pool-mean:n=9,d=1,kernel=%d,stride=%d", kernel, stride);
            ck_assert_moves(text, 4 * tokens, 4 * rows);
        }
    }
}

TEST(default_workloads_are_workloads)
{
    ck_assert_ptr_nonnull(workload_default(0));
    for (size_t i = 0; workload_default(i) != NULL; i++)
        parsed(workload_default(i));
}

static bool is(double a, double b)
{
    return !(a < b) && !(a > b);
}

TEST(spread_is_median_and_extremes)
{
    double odd[] = { 5, 1, 4, 2, 3 }, even[] = { 8, 1, 2, 4 }, one[] = { 7 };
    struct timing_spread s = timing_spread(odd, 5);

    ck_assert(is(s.median, 3) && is(s.min, 1) && is(s.max, 5));
    s = timing_spread(even, 4);
    ck_assert(is(s.median, 3) && is(s.min, 1) && is(s.max, 8));
    s = timing_spread(one, 1);
    ck_assert(is(s.median, 7) && is(s.min, 7) && is(s.max, 7));
}

int main(void)
{
    return suite_run("bench", 0, NULL, NULL);
}
