/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * How OpenCL's kernels are built, over a driver that is not there: from the cache or from source,
 * with which options, and what is tried after a refusal.
 */
#define _POSIX_C_SOURCE 200809L

#include "vendor_world.h"

#include <unistd.h>

static char folder[64];

static void begin(void)
{
    world_begin(&vendors[OPENCL]);
}

/* Opens a device, gets one kernel, closes. The self-test builds another, which is not kept. */
static void check_built(uint32_t source, uint32_t binary)
{
    void *kernel = NULL;

    world_open();
    world.rt->services.cache_dir = folder;
    fake_opencl.source_builds = fake_opencl.binary_builds = 0;
    ck_assert_int_eq(get_kernel(HEED_KERNEL_lanes_pack, 0, &kernel), HEED_OK);
    ck_assert_uint_eq(fake_opencl.source_builds, source);
    ck_assert_uint_eq(fake_opencl.binary_builds, binary);
    world.rt->services.cache_dir = NULL;
    world_close();
}

static void remove_all(void)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

TEST(whatever_the_binary_depends_on_is_in_the_key)
{
    check_built(1, 0);
    check_built(0, 1);
    for (int what = 0; what < 4; what++) {
        fake_opencl.driver_version = what == 0 ? "2" : fake_opencl.driver_version;
        fake_opencl.device_version = what == 1 ? "OpenCL 2.0" : fake_opencl.device_version;
        fake_opencl.vector = what == 2 ? 16 : fake_opencl.vector;          /* an option */
        fake_opencl.local_memory = what == 3 ? 32 << 10 : fake_opencl.local_memory;
        opencl_install();
        check_built(1, 0);
        check_built(0, 1);
    }
    remove_all();
}

TEST(binary_that_the_driver_refuses_is_built_anew)
{
    check_built(1, 0);
    fake_opencl.refuse_binary = true;
    check_built(1, 0);
    ck_assert_int_gt(world.logged[3], 0);
    fake_opencl.refuse_binary = false;
    check_built(0, 1);
    remove_all();
}

TEST(options_never_loosen_arithmetic)
{
    static const char *const wrong[] = { "math", "mad", "denorm", "signed-zero", "finite" };

    check_built(1, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_ptr_null(strstr(fake_opencl.options, wrong[i]));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-cl-std=CL1.2"));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_LARGE=0"));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_TILE_ROWS=6"));
    remove_all();
}

TEST(a_mode_that_a_driver_lacks_is_left_out)
{
    fake_opencl.type = 4;
    fake_opencl.vendor = 0x8086;
    fake_opencl.ip_version = 12u << 22 | 60u << 14;
    fake_opencl.sub_groups[0] = fake_opencl.sub_groups[1] = 16;
    check_built(1, 0);
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "256-GRF"));
    remove_all();
    fake_opencl.refuse_option = "256-GRF";
    check_built(1, 0);
    ck_assert_ptr_null(strstr(fake_opencl.options, "256-GRF"));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_LEAST_LANES=16"));
    remove_all();
    fake_opencl.refuse_option = "-DHK_LEAST_LANES=16";
    check_built(1, 0);
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_LEAST_LANES=0"));
    remove_all();
}

TEST(other_standards_are_tried)
{
    fake_opencl.refuse_option = "CL1.2";
    check_built(1, 0);
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-cl-std=CL3.0"));
    check_built(0, 1);
    fake_opencl.refuse_option = "-cl-std";
    remove_all();
    check_built(1, 0);
    ck_assert_ptr_null(strstr(fake_opencl.options, "-cl-std"));
    remove_all();
}

TEST(failed_build_without_a_log_says_so)
{
    void *kernel = NULL;

    world_open();
    opencl_refuse_builds(true);
    fake_opencl.log = "";
    ck_assert_int_eq(get_kernel(HEED_KERNEL_lanes_pack, 0, &kernel), HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(world.detail.text, "kernel lanes_pack: the compiler left no log");
    ck_assert_int_eq(world.logged[1], 0);
}

int main(void)
{
    snprintf(folder, sizeof(folder), "opencl-%ld", (long)getpid());
    return suite_run("opencl-build", 240, begin, world_end);
}
