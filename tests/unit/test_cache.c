/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled kernels on disk: what is damaged, cut short, another's or no file is as good as absent
 * and is never used; and the digest that finds damage.
 */
#define _POSIX_C_SOURCE 200809L

#include "backends/device/cache.h"
#include "lib/core/alloc.h"
#include "lib/core/context.h"
#include "support/ledger.h"
#include "support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], file[256];
static struct ledger ledger;
static struct heed_runtime runtime;
static struct heed_services services;
static atomic_bool refused;
static int logged[5];               /* lines, by level */
static char last[256];
static const uint8_t key[HEED_HASH_BYTES] = { 1, 2 };
static const char contents[] = "what a compiler made";

static void count_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    logged[level]++;
    snprintf(last, sizeof(last), "%s", text);
}

static void begin(void)
{
    snprintf(folder, sizeof(folder), "cache-%ld", (long)getpid());
    memset(&ledger, 0, sizeof(ledger));
    memset(logged, 0, sizeof(logged));
    runtime.allocator = ledger_allocator(&ledger);
    services = (struct heed_services){
        .runtime = &runtime,
        .alloc = heed_alloc,
        .free = heed_free,
        .log = count_line,
        .cache_dir = folder,
        .cache_refused = &refused,
    };
    atomic_store(&refused, false);
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

static void end(void)
{
    remove_all();
    ck_assert_int_eq(ledger.blocks, 0);
    ck_assert_int_eq(ledger.mistakes, 0);
}

static void store(void)
{
    heed_cache_store(&services, key, contents, sizeof(contents));
}

/* Is it there? What is there is what was stored. */
static bool stored(void)
{
    size_t n = 0;
    void *const bytes = heed_cache_load(&services, key, &n);

    if (bytes == NULL)
        return false;
    ck_assert_uint_eq(n, sizeof(contents));
    ck_assert_mem_eq(bytes, contents, n);
    heed_free(&runtime, bytes, n, 1);
    return true;
}

TEST(what_is_stored_is_found)
{
    ck_assert(!stored());
    store();
    ck_assert_int_eq(find_file(), HEED_CACHE_HEADER + (long)sizeof(contents));
    ck_assert(stored());
    store();
    ck_assert(stored());
    ck_assert_int_eq(logged[1] + logged[2], 0);
}

TEST(folder_may_lie_deep_and_be_absent)
{
    char deep[96];
    void *bytes;
    size_t n = 0;

    ck_assert_int_eq(mkdir(folder, 0700), 0);
    snprintf(deep, sizeof(deep), "%s/a//b", folder);
    services.cache_dir = deep;
    heed_cache_store(&services, key, "xyz", 3);
    bytes = heed_cache_load(&services, key, &n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(n, 3);
    ck_assert_mem_eq(bytes, "xyz", 3);
    heed_free(&runtime, bytes, n, 1);
    services.cache_dir = folder;
    snprintf(file, sizeof(file), "%.80s/heed-0102%036d", deep, 0);
    ck_assert_int_eq(remove(file), 0);
    ck_assert_int_eq(rmdir(deep), 0);
    snprintf(deep, sizeof(deep), "%s/a", folder);
    ck_assert_int_eq(rmdir(deep), 0);
}

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

TEST(damaged_files_are_as_good_as_absent)
{
    const size_t size = HEED_CACHE_HEADER + sizeof(contents);

    for (size_t k = 0; k < size; k++) {
        store();
        (void)find_file();
        with_damage(cut, k);
        ck_assert(!stored());
    }
    store();
    for (size_t k = 0; k < 8 * size; k++) {
        with_damage(flip, k);
        ck_assert_msg(!stored(), "bit %zu", k);
        with_damage(flip, k);
    }
    ck_assert(stored());
    for (size_t k = 1; k < 64; k += 9) {
        store();
        with_damage(lengthen, k);
        ck_assert(!stored());
    }
    store();
    ck_assert(stored());
}

TEST(what_is_no_file_is_no_cache)
{
    store();
    (void)find_file();
    ck_assert_int_eq(remove(file), 0);
    ck_assert_int_eq(mkdir(file, 0700), 0);
    store();                    /* a folder in its place: nothing can be kept */
    ck_assert(!stored());
    ck_assert_int_gt(logged[3], 0);
    ck_assert_int_eq(rmdir(file), 0);
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    ck_assert(!stored());       /* and does not wait for a pipe's other end */
    store();
    ck_assert(stored());        /* which the new file has replaced */
}

/* Nothing is read there, nothing written, and one line says why. */
static void refuses_the_folder(const char *why)
{
    atomic_store(&refused, false);
    memset(logged, 0, sizeof(logged));
    ck_assert(!stored());
    ck_assert_ptr_nonnull(strstr(last, why));
    ck_assert_ptr_nonnull(strstr(last, services.cache_dir));
    (void)find_file();
    ck_assert_int_eq(file[0] == '\0' ? 0 : remove(file), 0);
    store();
    ck_assert_int_eq(find_file(), -1);
    ck_assert(!stored());
    ck_assert_int_eq(logged[2], 1);
    ck_assert_int_eq(logged[1] + logged[3], 0);
}

TEST(folder_of_others_is_not_used)
{
    static const mode_t modes[] = { 0720, 0702, 0777, 01777 };

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        store();
        ck_assert(stored());
        ck_assert_int_eq(chmod(folder, modes[i]), 0);
        refuses_the_folder("other users may write");
        ck_assert_int_eq(chmod(folder, 0755), 0);
    }
    store();
    (void)find_file();
    ck_assert_int_eq(chmod(file, 0620), 0);     /* from a time when others could write there */
    ck_assert(!stored());
    ck_assert_int_eq(chmod(file, 0600), 0);
    ck_assert(stored());
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(folder, 1, (gid_t)-1), 0);
        refuses_the_folder("another user owns it");
        ck_assert_int_eq(chown(folder, 0, (gid_t)-1), 0);
    } else {
        services.cache_dir = "/";
        ck_assert(!stored());
        store();
        ck_assert_ptr_nonnull(strstr(last, "another user owns it"));
    }
}

/* A link to where the folder is, is the folder; one in a file's place is nothing. */
TEST(links_are_looked_through_to_the_folder_alone)
{
    char link[64], moved[300];

    store();
    snprintf(link, sizeof(link), "%.40s-link", folder);
    ck_assert_int_eq(symlink(folder, link), 0);
    services.cache_dir = link;
    ck_assert(stored());
    ck_assert_int_eq(remove(link), 0);
    services.cache_dir = folder;
    (void)find_file();
    snprintf(moved, sizeof(moved), "%.40s-moved", folder);
    ck_assert_int_eq(rename(file, moved), 0);
    snprintf(link, sizeof(link), "../%.40s", moved);
    ck_assert_int_eq(symlink(link, file), 0);
    ck_assert(!stored());
    ck_assert_int_eq(remove(moved), 0);
    ck_assert_int_eq(remove(file), 0);
}

TEST(another_keys_file_is_not_taken)
{
    uint8_t other[HEED_HASH_BYTES];
    size_t n = 0;

    memcpy(other, key, sizeof(other));
    other[HEED_HASH_BYTES - 1] = 1;         /* beyond what the name shows */
    store();
    ck_assert_ptr_null(heed_cache_load(&services, other, &n));
}

TEST(folder_that_cannot_be_made_is_no_cache)
{
    char inside[96];
    FILE *f;

    ck_assert_int_eq(mkdir(folder, 0700), 0);
    snprintf(inside, sizeof(inside), "%s/plain", folder);
    f = fopen(inside, "wb");
    ck_assert_ptr_nonnull(f);
    fclose(f);
    services.cache_dir = inside;
    store();
    ck_assert(!stored());
    ck_assert_int_gt(logged[3], 0);
    ck_assert_int_eq(logged[1] + logged[2], 0);
}

TEST(no_memory_is_no_cache)
{
    store();
    atomic_store(&ledger.fail_from, 1);
    ck_assert(!stored());
    ledger_restart(&ledger);
    ck_assert(stored());
}

TEST(hash_is_sha_256)
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
}

int main(void)
{
    return suite_run("cache", 120, begin, end);
}
