/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Building kernels and keeping them on disk: what is damaged, cut short, another's or refused is
 * built anew and never used; what differs in anything that the binary depends on is another file;
 * a kernel that cannot be built says why.
 */
#define _POSIX_C_SOURCE 200809L

#include "opencl_world.h"

#include "backends/device/cache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], file[256];

static void cache_begin(void)
{
    world_begin();
    snprintf(folder, sizeof(folder), "cache-%ld", (long)getpid());
    world.services.cache_dir = folder;
}

/* Looks at the one file there and returns its size; -1: there is none. Temporary ones must not stay
 * behind. */
static long find_file(void)
{
    DIR *const open = opendir(folder);
    struct stat about;
    struct dirent *entry;
    int n = 0;

    file[0] = '\0';
    if (open == NULL)
        return -1;
    while ((entry = readdir(open)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        snprintf(file, sizeof(file), "%.40s/%.80s", folder, entry->d_name);
    }
    closedir(open);
    ck_assert_int_le(n, 1);
    if (n == 0 || stat(file, &about) != 0)
        return -1;
    if (S_ISREG(about.st_mode))
        ck_assert_uint_eq(about.st_mode & 0777, 0600);
    return (long)about.st_size;
}

static void remove_all(void)
{
    DIR *const open = opendir(folder);
    struct dirent *entry;

    if (open == NULL)
        return;
    while ((entry = readdir(open)) != NULL) {
        snprintf(file, sizeof(file), "%.40s/%.80s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            ck_assert_int_eq(remove(file), 0);
    }
    closedir(open);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void cache_end(void)
{
    remove_all();
    world_end();
}

/* Opens a device, gets one kernel, closes. The self-test builds another, which is not kept. */
static heed_status build_once(void)
{
    void *kernel = NULL;
    heed_status status;

    world.services.cache_dir = NULL;
    world_open();
    world.services.cache_dir = folder;
    fake_opencl.source_builds = fake_opencl.binary_builds = 0;
    status = world_device()->common.base.driver->kernel(world.device.state, HEED_KERNEL_pack, 0,
                                                        &kernel,
                                                 &world.detail);
    if (status >= 0)
        ck_assert_ptr_nonnull(kernel);
    world_close();
    return status;
}

static void check_built(uint32_t source, uint32_t binary)
{
    ck_assert_int_eq(build_once(), HEED_OK);
    ck_assert_uint_eq(fake_opencl.source_builds, source);
    ck_assert_uint_eq(fake_opencl.binary_builds, binary);
}

START_TEST(second_time_comes_from_the_cache)
{
    check_built(1, 0);
    ck_assert_int_gt(find_file(), HEED_CACHE_HEADER);
    check_built(0, 1);
    check_built(0, 1);
}
END_TEST

START_TEST(folder_may_lie_deep_and_be_absent)
{
    char deep[96];
    void *bytes;
    size_t n = 0;
    const uint8_t key[HEED_HASH_BYTES] = { 1, 2 };

    ck_assert_int_eq(mkdir(folder, 0700), 0);
    snprintf(deep, sizeof(deep), "%s/a//b", folder);
    world.services.cache_dir = deep;
    heed_cache_store(&world.services, key, "xyz", 3);
    bytes = heed_cache_load(&world.services, key, &n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(n, 3);
    ck_assert_mem_eq(bytes, "xyz", 3);
    heed_free(&world.runtime, bytes, n, 1);
    world.services.cache_dir = folder;
    snprintf(file, sizeof(file), "%.80s/heed-0102%036d", deep, 0);
    ck_assert_int_eq(remove(file), 0);
    ck_assert_int_eq(rmdir(deep), 0);
    snprintf(deep, sizeof(deep), "%s/a", folder);
    ck_assert_int_eq(rmdir(deep), 0);
}
END_TEST

/* Reads the file, hands it to `damage`, writes what that leaves. */
static void with_damage(size_t (*damage)(unsigned char *bytes, size_t n, size_t k), size_t k)
{
    static unsigned char bytes[4096];
    FILE *f = fopen(file, "rb");
    size_t n;

    ck_assert_ptr_nonnull(f);
    n = fread(bytes, 1, sizeof(bytes) - 64, f);
    fclose(f);
    n = damage(bytes, n, k);
    f = fopen(file, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static size_t cut(unsigned char *bytes, size_t n, size_t k)
{
    (void)bytes;
    return k < n ? k : n;
}

static size_t flip(unsigned char *bytes, size_t n, size_t k)
{
    bytes[k / 8 % n] ^= (unsigned char)(1u << k % 8);
    return n;
}

static size_t lengthen(unsigned char *bytes, size_t n, size_t k)
{
    memset(bytes + n, 0, k);
    return n + k;
}

START_TEST(damaged_files_are_built_anew)
{
    long size;

    check_built(1, 0);
    size = find_file();
    for (long k = 0; k < size; k += k < HEED_CACHE_HEADER + 4 ? 1 : 7) {
        with_damage(cut, (size_t)k);
        check_built(1, 0);
        check_built(0, 1);
    }
    for (long k = 0; k < 8 * size; k++) {
        with_damage(flip, (size_t)k);
        check_built(1, 0);
    }
    for (size_t k = 1; k < 64; k += 9) {
        with_damage(lengthen, k);
        check_built(1, 0);
        check_built(0, 1);
    }
}
END_TEST

START_TEST(what_is_no_file_is_no_cache)
{
    check_built(1, 0);
    find_file();
    ck_assert_int_eq(remove(file), 0);
    ck_assert_int_eq(mkdir(file, 0700), 0);
    check_built(1, 0);          /* a folder in its place: nothing can be kept */
    check_built(1, 0);
    ck_assert_int_gt(world.logged[3], 0);
    ck_assert_int_eq(rmdir(file), 0);
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    check_built(1, 0);          /* and does not wait for a pipe's other end */
    check_built(0, 1);          /* which the new file has replaced */
}
END_TEST

START_TEST(another_keys_file_is_not_taken)
{
    static uint8_t key[2][HEED_HASH_BYTES] = { { 1 }, { 1 } };
    size_t n = 0;

    key[1][HEED_HASH_BYTES - 1] = 1;        /* beyond what the name shows */
    heed_cache_store(&world.services, key[0], "xyz", 3);
    ck_assert_ptr_null(heed_cache_load(&world.services, key[1], &n));
}
END_TEST

START_TEST(folder_that_cannot_be_made_is_no_cache)
{
    FILE *f;

    ck_assert_int_eq(mkdir(folder, 0700), 0);
    snprintf(file, sizeof(file), "%s/plain", folder);
    f = fopen(file, "wb");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    snprintf(folder + strlen(folder), 16, "/plain");
    check_built(1, 0);
    check_built(1, 0);
    ck_assert_int_gt(world.logged[3], 0);
    ck_assert_int_eq(world.logged[1], 0);
    ck_assert_int_eq(world.logged[2], 2);       /* of opening: this driver fails the self-test */
    *strchr(folder, '/') = '\0';
}
END_TEST

START_TEST(whatever_the_binary_depends_on_is_in_the_key)
{
    check_built(1, 0);
    ck_assert_int_gt(find_file(), 0);
    ck_assert_int_eq(remove(file), 0);
    for (int what = 0; what < 4; what++) {
        heed_opencl_api_set(fake_opencl_api(), NULL);
        check_built(1, 0);
        fake_opencl.driver_version = what == 0 ? "2" : fake_opencl.driver_version;
        fake_opencl.device_version = what == 1 ? "OpenCL 2.0" : fake_opencl.device_version;
        fake_opencl.vector = what == 2 ? 16 : fake_opencl.vector;          /* an option */
        fake_opencl.local_memory = what == 3 ? 32 << 10 : fake_opencl.local_memory;
        ck_assert_int_gt(find_file(), 0);
        ck_assert_int_eq(remove(file), 0);
    }
}
END_TEST

START_TEST(binary_that_the_driver_refuses_is_built_anew)
{
    check_built(1, 0);
    fake_opencl.refuse_binary = true;
    check_built(1, 0);
    ck_assert_int_gt(world.logged[3], 0);
    fake_opencl.refuse_binary = false;
    check_built(0, 1);
}
END_TEST

START_TEST(options_never_loosen_arithmetic)
{
    static const char *const wrong[] = { "math", "mad", "denorm", "signed-zero", "finite" };

    check_built(1, 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_ptr_null(strstr(fake_opencl.options, wrong[i]));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-cl-std=CL1.2"));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_LARGE=0"));
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-DHK_TILE_ROWS=6"));
}
END_TEST

START_TEST(other_standards_are_tried)
{
    fake_opencl.refuse_option = "CL1.2";
    check_built(1, 0);
    ck_assert_ptr_nonnull(strstr(fake_opencl.options, "-cl-std=CL3.0"));
    check_built(0, 1);
    fake_opencl.refuse_option = "-cl-std";
    remove_all();
    check_built(1, 0);
    ck_assert_ptr_null(strstr(fake_opencl.options, "-cl-std"));
}
END_TEST

START_TEST(failed_build_tells_why)
{
    void *kernel = NULL;

    world.services.cache_dir = NULL;
    world_open();
    world.services.cache_dir = folder;
    fake_opencl.refuse_source = true;
    fake_opencl.log = "Compilation started\n\n  pack.cl:3: error: no such thing\r\nmore\nend";
    ck_assert_int_eq(world_device()->common.base.driver->kernel(world.device.state,
                                                                HEED_KERNEL_pack, 0,
                                                         &kernel, &world.detail),
                     HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(world.detail.native, HEED_CL_BUILD_PROGRAM_FAILURE);
    ck_assert_str_eq(world.detail.text, "kernel pack: pack.cl:3: error: no such thing");
    ck_assert_int_eq(world.logged[1], 4);
    ck_assert_str_eq(world.line, "opencl: end");
    fake_opencl.log = "";
    ck_assert_int_eq(world_device()->common.base.driver->kernel(world.device.state,
                                                                HEED_KERNEL_pack, 0,
                                                         &kernel, &world.detail),
                     HEED_E_KERNEL_BUILD);
    ck_assert_str_eq(world.detail.text, "kernel pack: the compiler left no log");
    ck_assert_ptr_null(kernel);
    world_close();
    ck_assert_int_eq(find_file(), -1);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
}
END_TEST

START_TEST(hash_is_sha_256)
{
    /* FIPS 180-4's examples: one block, two blocks; and a million letters in odd pieces. */
    static const struct {
        const char *text;
        uint8_t first[4], last[4];
    } rows[] = {
        { "", { 0xe3, 0xb0, 0xc4, 0x42 }, { 0x78, 0x52, 0xb8, 0x55 } },
        { "abc", { 0xba, 0x78, 0x16, 0xbf }, { 0xf2, 0x00, 0x15, 0xad } },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          { 0x24, 0x8d, 0x6a, 0x61 },
          { 0x19, 0xdb, 0x06, 0xc1 } },
    };
    uint8_t digest[HEED_HASH_BYTES], letters[1000];
    struct heed_hash hash;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        heed_hash_init(&hash);
        heed_hash_add(&hash, rows[i].text, strlen(rows[i].text));
        heed_hash_finish(&hash, digest);
        ck_assert_mem_eq(digest, rows[i].first, 4);
        ck_assert_mem_eq(digest + 28, rows[i].last, 4);
    }
    memset(letters, 'a', sizeof(letters));
    heed_hash_init(&hash);
    for (size_t left = 1000000, n = 1; left > 0; left -= n, n = n % 997 + 1) {
        if (n > left)
            n = left;
        heed_hash_add(&hash, letters, n);
    }
    heed_hash_finish(&hash, digest);
    ck_assert_mem_eq(digest, ((uint8_t[]){ 0xcd, 0xc7, 0x6e, 0x5c }), 4);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("opencl-cache");
    TCase *const tests = tcase_create("fake");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tests, cache_begin, cache_end);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, second_time_comes_from_the_cache);
    tcase_add_test(tests, folder_may_lie_deep_and_be_absent);
    tcase_add_test(tests, damaged_files_are_built_anew);
    tcase_add_test(tests, what_is_no_file_is_no_cache);
    tcase_add_test(tests, another_keys_file_is_not_taken);
    tcase_add_test(tests, folder_that_cannot_be_made_is_no_cache);
    tcase_add_test(tests, whatever_the_binary_depends_on_is_in_the_key);
    tcase_add_test(tests, binary_that_the_driver_refuses_is_built_anew);
    tcase_add_test(tests, options_never_loosen_arithmetic);
    tcase_add_test(tests, other_standards_are_tried);
    tcase_add_test(tests, failed_build_tells_why);
    tcase_add_test(tests, hash_is_sha_256);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
