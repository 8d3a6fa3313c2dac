/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * tokens TOKENIZER.JSON, or tokens VOCAB.JSON MERGES.TXT: reads texts from standard input, each as
 * a number of bytes, a newline and the bytes, and writes for each its ids with special tokens, then
 * those without them, in a line each, then what the first become again, without and with special
 * tokens, each as a number of bytes, a newline, the bytes and a newline. The last line of standard
 * error is the time that the ids took. tests/model/peer_tokenizers.py compares all of that.
 */
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char *file(const char *name, size_t *bytes)
{
    FILE *const f = fopen(name, "rb");
    char *text = NULL;
    long size;

    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        text = malloc((size_t)size + 1);
        if (text && fread(text, 1, (size_t)size, f) != (size_t)size) {
            free(text);
            text = NULL;
        }
        *bytes = (size_t)size;
    }
    fclose(f);
    return text;
}

static void print_ids(const int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%d ", (int)ids[i]);
    putchar('\n');
}

static int print_text(const struct tokenizer *t, const int32_t *ids, size_t n, bool special)
{
    size_t bytes;
    char *text;

    if (tokenizer_decode(t, ids, n, special, &text, &bytes, NULL) != HEED_OK)
        return 1;
    printf("%zu\n", bytes);
    fwrite(text, 1, bytes, stdout);
    putchar('\n');
    free(text);
    return 0;
}

static double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One text; the seconds that its ids took are added to *time. */
static int compare(const struct tokenizer *t, const char *text, size_t bytes, double *time)
{
    int32_t *ids, *plain;
    size_t n, n_plain;
    const double before = seconds();
    int wrong;

    if (tokenizer_encode(t, text, bytes, true, &ids, &n, NULL) != HEED_OK)
        return 1;
    *time += seconds() - before;
    if (tokenizer_encode(t, text, bytes, false, &plain, &n_plain, NULL) != HEED_OK) {
        free(ids);
        return 1;
    }
    print_ids(ids, n);
    print_ids(plain, n_plain);
    wrong = print_text(t, ids, n, false) | print_text(t, ids, n, true);
    free(ids);
    free(plain);
    return wrong;
}

static struct tokenizer *made(int argc, char **argv)
{
    heed_report report = { .size = sizeof report };
    struct tokenizer *t = NULL;
    size_t bytes[2] = { 0, 0 };
    char *const text = file(argv[1], &bytes[0]);
    char *const merges = argc == 3 ? file(argv[2], &bytes[1]) : NULL;
    heed_status status = HEED_E_NOT_FOUND;

    if (text && argc == 2)
        status = tokenizer_create(text, bytes[0], &t, &report);
    else if (text && merges)
        status = tokenizer_create_bpe(text, bytes[0], merges, bytes[1], &t, &report);
    if (status != HEED_OK)
        fprintf(stderr, "%s: %s: %s: %s\n", argv[1], heed_status_name(status), report.field,
                report.message);
    free(text);
    free(merges);
    return t;
}

int main(int argc, char **argv)
{
    struct tokenizer *t;
    double time = 0;
    int wrong = 0;
    size_t n;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: tokens TOKENIZER.JSON | tokens VOCAB.JSON MERGES.TXT\n");
        return 2;
    }
    t = made(argc, argv);
    if (!t)
        return 1;
    while (!wrong && scanf("%zu", &n) == 1 && getchar() == '\n') {
        char *const text = malloc(n + 1);

        wrong = !text || fread(text, 1, n, stdin) != n || compare(t, text, n, &time);
        free(text);
    }
    fprintf(stderr, "%.6f\n", time);
    tokenizer_destroy(t);
    return wrong;
}
