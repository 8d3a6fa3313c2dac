/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target without a fuzzer:
 *   TARGET FILE|FOLDER...                    gives it these inputs; fails when there is none
 *   TARGET --seconds N [--seed S] [--new FOLDER] FILE|FOLDER...
 *                                            then mutations of them for N seconds; the input at
 *                                            work is FOLDER/current, so a crash leaves it there
 *   TARGET --make-corpus FOLDER [--count N]  writes N seeds (32), named by their content
 */
#define _POSIX_C_SOURCE 200809L

#include "fuzz.h"
#include "memory.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PATH = 4096, INPUTS_MOST = 4096, SEEDS_TRIED = 20000 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct {
    struct input inputs[INPUTS_MOST];
    size_t n;
    const char *corpus, *new_folder;
    uint64_t seconds, seed, count;
} w = { .seed = 1, .count = 32 };

static bool is_path_made(char path[PATH], const char *folder, const char *name)
{
    const int length = snprintf(path, PATH, "%s/%s", folder, name);

    return length > 0 && length < PATH;
}

static bool file_write(const char *folder, const char *name, const uint8_t *data, size_t size)
{
    char path[PATH];
    FILE *file = is_path_made(path, folder, name) ? fopen(path, "wb") : NULL;
    bool good = file && fwrite(data, 1, size, file) == size;

    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s/%s: cannot be written\n", folder, name);
    return good;
}

/* ---- inputs ------------------------------------------------------------- */

/* The exact size is allocated, so that a sanitizer sees the first byte read past it. */
static void input_give(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    FUZZ_REQUIRE(copy != NULL, "no memory for an input");
    if (size)
        memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static bool file_read(const char *path, size_t size)
{
    FILE *file = w.n < INPUTS_MOST ? fopen(path, "rb") : NULL;
    uint8_t *data = file ? malloc(size ? size : 1) : NULL;
    const bool good = data && fread(data, 1, size, file) == size;

    if (file)
        fclose(file);
    if (!good) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        return false;
    }
    w.inputs[w.n++] = (struct input){ .data = data, .size = size };
    return true;
}

static bool folder_read(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    char path[PATH];
    struct stat info;
    bool good = entries != NULL;

    while (good && (entry = readdir(entries))) {
        good = is_path_made(path, folder, entry->d_name) && stat(path, &info) == 0;
        if (good && S_ISREG(info.st_mode))
            good = file_read(path, (size_t)info.st_size);
    }
    if (entries)
        closedir(entries);
    return good;
}

static bool path_read(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: cannot be found\n", path);
        return false;
    }
    return S_ISDIR(info.st_mode) ? folder_read(path) : file_read(path, (size_t)info.st_size);
}

/* ---- mutations ---------------------------------------------------------- */

static uint64_t draw(void)
{
    w.seed = w.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return w.seed >> 33;
}

static void number_put(uint8_t *data, size_t size)
{
    static const uint64_t numbers[] = {
        0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 31, UINT64_C(1) << 32, 2, 64,
        UINT64_C(1) << 60, UINT64_C(1) << 40, 7, 255, UINT32_MAX, 3, INT32_MAX,
    };
    const size_t n = sizeof(numbers) / sizeof(*numbers), width = (size_t)1 << draw() % 4;
    const uint64_t number = numbers[draw() % n];
    const size_t at = size > width ? draw() % (size - width + 1) / width * width : 0;

    for (size_t i = 0; i < width && at + i < size; i++)
        data[at + i] = (uint8_t)(number >> 8 * i);
}

/* Changes one thing; the size may change. */
static size_t mutate(uint8_t *data, size_t size)
{
    const size_t at = size ? draw() % size : 0, length = 1 + draw() % 16;
    const struct input *other = &w.inputs[draw() % w.n];

    switch (size ? draw() % 8 : 4) {
    case 0:
        data[at] ^= (uint8_t)(1u << draw() % 8);
        return size;
    case 1:
        data[at] = (uint8_t)draw();
        return size;
    case 2:
        number_put(data, size);
        return size;
    case 3:                             /* cut out */
        memmove(data + at, data + at + (length < size - at ? length : size - at),
                size - at - (length < size - at ? length : size - at));
        return size - (length < size - at ? length : size - at);
    case 4:                             /* put in */
        if (size + length > FUZZ_INPUT_MOST)
            return size;
        memmove(data + at + length, data + at, size - at);
        for (size_t i = 0; i < length; i++)
            data[at + i] = (uint8_t)draw();
        return size + length;
    case 5:                             /* go on like another input */
        if (other->size <= at || other->size > FUZZ_INPUT_MOST)
            return size;
        memcpy(data + at, other->data + at, other->size - at);
        return other->size;
    case 6:
        data[at] = (uint8_t)(data[at] + draw() % 9 - 4);
        return size;
    default:                            /* a stretch of another */
        for (size_t i = at; i < at + length && i < size && i < other->size; i++)
            data[i] = other->data[i];
        return size;
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool mutations_give(void)
{
    const double end = now() + (double)w.seconds;
    static uint8_t data[FUZZ_INPUT_MOST];
    unsigned long long given = 0;

    while (now() < end) {
        const struct input *input = &w.inputs[draw() % w.n];
        const uint64_t changes = 1 + draw() % 6;
        size_t size = input->size < FUZZ_INPUT_MOST ? input->size : FUZZ_INPUT_MOST;

        if (size)
            memcpy(data, input->data, size);
        for (uint64_t i = 0; i < changes; i++)
            size = mutate(data, size);
        if (w.new_folder && !file_write(w.new_folder, "current", data, size))
            return false;
        input_give(data, size);
        given++;
    }
    printf("%llu mutations\n", given);
    return true;
}

/* ---- seeds -------------------------------------------------------------- */

static bool corpus_make(void)
{
    static uint8_t data[FUZZ_INPUT_MOST];
    uint64_t made = 0;

    for (uint32_t number = 0; made < w.count && number < SEEDS_TRIED; number++) {
        const size_t size = fuzz_seed(number, data);
        char name[17];

        if (size == 0)
            continue;
        snprintf(name, sizeof(name), "%016llx", (unsigned long long)fuzz_hash(0, data, size));
        if (!file_write(w.corpus, name, data, size))
            return false;
        made++;
    }
    printf("%llu seeds\n", (unsigned long long)made);
    return made == w.count;
}

/* ---- command line ------------------------------------------------------- */

/* An option and its value; true when there was one. */
static bool is_option(int argc, char **argv, int *i)
{
    static const struct {
        const char *name;
        const char **text;
        uint64_t *number;
    } options[] = {
        { "--make-corpus", &w.corpus, NULL }, { "--new", &w.new_folder, NULL },
        { "--seconds", NULL, &w.seconds },    { "--seed", NULL, &w.seed },
        { "--count", NULL, &w.count },
    };

    for (size_t o = 0; o < sizeof(options) / sizeof(*options) && *i + 1 < argc; o++) {
        if (strcmp(argv[*i], options[o].name) != 0)
            continue;
        ++*i;
        if (options[o].text)
            *options[o].text = argv[*i];
        else
            *options[o].number = strtoull(argv[*i], NULL, 10);
        return true;
    }
    return false;
}

static void inputs_free(void)
{
    for (size_t i = 0; i < w.n; i++)
        free(w.inputs[i].data);
}

int main(int argc, char **argv)
{
    bool good = true;

    for (int i = 1; i < argc && good; i++) {
        if (is_option(argc, argv, &i))
            continue;
        good = path_read(argv[i]);
    }
    if (good && w.corpus)
        return corpus_make() ? EXIT_SUCCESS : EXIT_FAILURE;
    for (size_t i = 0; i < w.n && good; i++)
        input_give(w.inputs[i].data, w.inputs[i].size);
    printf("%zu inputs\n", w.n);
    good = good && w.n > 0;
    if (good && w.seconds)
        good = mutations_give();
    inputs_free();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
