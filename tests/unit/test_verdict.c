/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a cold start need not do twice, over an OpenCL driver that is not there: verdicts of the
 * self-test are kept for other processes, and programs are not, where the driver keeps them.
 */
#define _POSIX_C_SOURCE 200809L

#include "vendor_world.h"

#include "backends/device/cache.h"

#include <glob.h>
#include <unistd.h>

static char folder[64];

static void begin(void)
{
    world_begin(&vendors[OPENCL]);
    fake_opencl.platform = "Portable Computing Language";
}

static void end(void)
{
    char command[96];

    world.rt->services.cache_dir = NULL;
    world_end();
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* PoCL compiles a kernel a second time for a binary; what it has compiled it keeps itself. */
TEST(no_binary_is_asked_of_a_driver_that_keeps_its_own)
{
    void *kernel = NULL;

    for (int pass = 0; pass < 4; pass++) {
        fake_opencl.platform = pass < 2 ? "Portable Computing Language" : "Fake";
        world_open();
        world.rt->services.cache_dir = folder;
        fake_opencl.source_builds = fake_opencl.binary_builds = 0;
        ck_assert_int_eq(get_kernel(HEED_KERNEL_lanes_pack, 0, &kernel), HEED_OK);
        ck_assert_uint_eq(fake_opencl.source_builds, pass < 3);
        ck_assert_uint_eq(fake_opencl.binary_builds, pass == 3);
        world.rt->services.cache_dir = NULL;
        world_close();
    }
}

static void check_verdict(uint32_t tested, const char *known)
{
    const struct heed_services *services = &world.rt->services;
    heed_device_props props = { .untested = 1 };

    world.rt->services.cache_dir = folder;
    world.offload->recall(0, services, &props);
    ck_assert_uint_eq(props.untested, known == NULL);
    if (known != NULL) {
        ck_assert_str_eq(props.reason, known);
        ck_assert_uint_eq(props.exact, known[0] == '\0');
    }
    fake_opencl.source_builds = 0;
    world_open();
    ck_assert_uint_eq(fake_opencl.source_builds, tested);
    world_close();
    world.rt->services.cache_dir = NULL;
}

/* Each round is a process of its own: the driver is another one to heed. */
TEST(verdict_is_kept_for_other_processes)
{
    check_verdict(1, NULL);
    check_verdict(0, "");
    opencl_install();
    check_verdict(0, "");
    fake_opencl.driver_version = "2";
    opencl_install();
    fake.launched = NULL;           /* nothing is computed */
    check_verdict(1, NULL);
    opencl_install();
    fake.launched = compute_right;
    check_verdict(0, "the self-test wrote nothing");
}

TEST(damaged_verdict_is_no_verdict)
{
    char command[128];

    check_verdict(1, NULL);
    snprintf(command, sizeof(command), "for f in %s/heed-*; do printf x >> $f; done", folder);
    ck_assert_int_eq(system(command), 0);
    opencl_install();
    check_verdict(1, NULL);
}

/* Puts the contents in place of the only verdict of the folder, with a digest that is right. */
static void replace_verdict(const char *contents, size_t bytes)
{
    uint8_t header[HEED_CACHE_HEADER];
    glob_t found;
    char pattern[96];
    FILE *file;

    snprintf(pattern, sizeof(pattern), "%s/heed-*", folder);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, 1);
    file = fopen(found.gl_pathv[0], "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(header, 1, sizeof(header), file), sizeof(header));
    fclose(file);
    globfree(&found);
    world.rt->services.cache_dir = folder;
    heed_cache_store(&world.rt->services, header + HEED_CACHE_AT_KEY, contents, bytes);
    world.rt->services.cache_dir = NULL;
    opencl_install();
}

/* Neither a device that is exact nor a reason that would reach a terminal. */
TEST(what_no_self_test_says_is_no_verdict)
{
    static const char *const wrong[] = { "v\0fma", "vfma \033[31m", "vfma\n\n", "v\200", "w",
                                        "v\t" };
    static const size_t bytes[] = { 5, 10, 6, 2, 1, 2 };
    char longest[sizeof(((heed_device_props *)NULL)->reason) + 1];

    check_verdict(1, NULL);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        replace_verdict(wrong[i], bytes[i]);
        check_verdict(1, NULL);
    }
    memset(longest, 'v', sizeof(longest));
    replace_verdict(longest, sizeof(longest));
    check_verdict(1, NULL);
    replace_verdict("vfma is not fused", 17);
    check_verdict(0, "fma is not fused");
}

int main(void)
{
    snprintf(folder, sizeof(folder), "verdict-%ld", (long)getpid());
    return suite_run("verdict", 60, begin, end);
}
