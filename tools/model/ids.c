/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ids.h"

#include "bar.h"
#include "common/text.h"

#include <stdlib.h>

static int add_id(int32_t **ids, int64_t *n, int64_t *room, const char *word)
{
    int64_t id;

    if (!text_integer(word, 0, INT32_MAX, &id))
        return complain("%s is no id", word);
    if (*n == *room) {
        const int64_t more = *room ? 2 * *room : 1024;
        int32_t *grown = realloc(*ids, (size_t)more * sizeof *grown);

        if (!grown)
            return complain("no memory for %s", "ids");
        *ids = grown;
        *room = more;
    }
    (*ids)[(*n)++] = (int32_t)id;
    return 0;
}

int ids_read(FILE *from, int32_t **ids, int64_t *n)
{
    int64_t room = 0;
    char word[32];

    *ids = NULL;
    *n = 0;
    while (fscanf(from, "%31s", word) == 1)
        if (add_id(ids, n, &room, word))
            return EXIT_USAGE;
    return *n ? 0 : complain("there are no %s", "ids");
}

int ids_parse(const char *text, int32_t **ids, int64_t *n)
{
    int64_t room = 0;
    char word[32];
    int taken;

    *ids = NULL;
    *n = 0;
    for (; sscanf(text, "%31s%n", word, &taken) == 1; text += taken)
        if (add_id(ids, n, &room, word))
            return EXIT_USAGE;
    return *n ? 0 : complain("--next wants %s", "ids");
}
