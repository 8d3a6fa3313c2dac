/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed-bench: workloads as text, the closed forms of their work, order statistics.
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
            ck_assert_msg(!(workload_flops(&load) < counted_flops(&load))
                          && !(workload_flops(&load) > counted_flops(&load)),
                          "%s: got %.0f, wanted %.0f", text, workload_flops(&load),
                          counted_flops(&load));
        }
    }
}

TEST(canonical_text_reads_back)
{
    static const char *const texts[] = {
        "dense", "causal", "window", "dense:dtype=bf16,d=80,n=33", "window:w=9,n=77,h=8,hk=2,b=3",
        "causal:dtype=f16,h=6,hk=1",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct workload a = parsed(texts[i]), b = parsed(a.text);

        ck_assert_str_eq(a.text, b.text);
        ck_assert(a.kind == b.kind && a.dtype == b.dtype && a.n == b.n && a.h == b.h
                  && a.hk == b.hk && a.d == b.d && a.b == b.b && a.w == b.w);
    }
    ck_assert_str_eq(parsed("window:n=64").text, "window:n=64,h=1,d=64,b=1,w=256,dtype=f32");
    ck_assert_str_eq(parsed("causal:h=6,hk=1,dtype=f16").text,
                     "causal:n=4096,h=6,hk=1,d=64,b=1,dtype=f16");
}

TEST(wrong_workloads_are_refused_with_a_reason)
{
    static const char *const texts[] = {
        "", "dens", "dense:", "dense:n", "dense:n=", "dense:n=0", "dense:n=-1", "dense:n=1x",
        "dense:n= 1", "dense:n=99999999999999999999", "dense:q=1", "dense:w=1", "causal:w=1",
        "window:w=-1", "dense:dtype=f64", "dense:h=3,hk=2", "dense:n=1073741824,d=1048576",
        "dense:n=1,,d=1", "dense:n=+1",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct workload load = { .n = 42 };
        char why[192] = "";

        ck_assert_msg(!workload_parse(texts[i], &load, why, sizeof why), "%s", texts[i]);
        ck_assert_msg(why[0] != '\0' && strchr(why, '\n') == NULL, "%s", texts[i]);
        ck_assert_int_eq(load.n, 42);
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
