/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gives every file of a folder to a fuzz target, for builds without a fuzzer: replay FOLDER...
 * Fails when there is no file, so that a lost corpus is noticed.
 */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The exact size is allocated, so that a sanitizer sees the first byte read past it. */
static int replay_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    FILE *file = fopen(path, "rb");
    const int good = data && file && fread(data, 1, size, file) == size;

    if (good)
        (void)LLVMFuzzerTestOneInput(data, size);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    if (file)
        fclose(file);
    free(data);
    return good;
}

/* Number of files given to the target, or -1. */
static long replay_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    char path[4096];
    struct stat info;
    long count = 0;

    if (!entries) {
        fprintf(stderr, "%s: cannot be opened\n", folder);
        return -1;
    }
    while (count >= 0 && (entry = readdir(entries))) {
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);

        if (length < 0 || (size_t)length >= sizeof path || stat(path, &info) != 0)
            count = -1;
        else if (S_ISREG(info.st_mode))
            count = replay_file(path, (size_t)info.st_size) ? count + 1 : -1;
    }
    closedir(entries);
    return count;
}

int main(int argc, char **argv)
{
    long total = 0;

    for (int i = 1; i < argc; i++) {
        const long count = replay_folder(argv[i]);

        if (count < 0)
            return EXIT_FAILURE;
        total += count;
    }
    printf("%ld inputs\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
