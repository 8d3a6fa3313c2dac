/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ceiling of heed-bench: which loops it readies, and when. The loops are the test's own.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench/ceiling.h"

#include "peak/device.h"
#include "peak/peak.h"

#include <heed/heed.h>

#include "support/suite.h"

#include <math.h>
#include <string.h>
#include <time.h>

struct peak_device {
    int opened, burnt;
};

static struct peak_device driver;

static void take_time(void)
{
    const struct timespec moment = { .tv_nsec = 1000000 };

    nanosleep(&moment, NULL);
}

struct peak_device *peak_device_open(const char *name)
{
    if (strcmp(name, "opencl:0") != 0)
        return NULL;
    driver.opened++;
    return &driver;
}

void peak_device_close(struct peak_device *d)
{
    ck_assert(d == NULL || d == &driver);
}

double peak_device_flops(const struct peak_device *d)
{
    (void)d;
    return 1e6;
}

bool peak_device_burn(struct peak_device *d, uint32_t iterations)
{
    (void)iterations;
    take_time();
    d->burnt++;
    return true;
}

static float burn(int64_t iterations, float x)
{
    (void)iterations;
    take_time();
    return x;
}

const struct peak *peak_find(const char *isa)
{
    static const struct peak level = { .isa = "level", .burn = burn, .flops = 1e6 };

    return strcmp(isa, level.isa) == 0 ? &level : NULL;
}

TEST(a_driver_compiles_nothing_before_its_peak_is_asked_for)
{
    struct ceiling *c;

    driver = (struct peak_device){ 0 };
    c = ceiling_create("opencl:0", NULL, 1, false);
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(driver.opened, 0);
    ck_assert(ceiling_flops(c) > 0);
    ceiling_ready(c);
    ck_assert(ceiling_flops(c) > 0);
    ck_assert_int_eq(driver.opened, 1);
    ck_assert_int_gt(driver.burnt, 0);
    ceiling_destroy(c);
}

TEST(what_threads_can_do_is_no_limit_of_a_driver)
{
    struct ceiling *c = ceiling_create("cuda:0", NULL, 1, false);

    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_null(c->peak);
    ck_assert(isnan(ceiling_flops(c)));
    ceiling_destroy(c);
    c = ceiling_create("cpu", "level", 2, false);
    ck_assert_ptr_nonnull(c);
    ck_assert(ceiling_flops(c) > 0);
    ceiling_destroy(c);
}

int main(void)
{
    return suite_run("ceiling", 0, NULL, NULL);
}
