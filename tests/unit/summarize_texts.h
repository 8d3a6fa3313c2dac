/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts for the tests of the demo, made from fixed generators. The caller frees.
 */
#ifndef HEED_TESTS_UNIT_SUMMARIZE_TEXTS_H
#define HEED_TESTS_UNIT_SUMMARIZE_TEXTS_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A long text with every sort of character, from a fixed generator. */
static inline char *noise(size_t size, uint32_t seed)
{
    static const char *const parts[] = {
        " ", " ", ". ", "\n", "\n\n", "word", "Word", "a", ",", "Mr.", "\xC3\xA9", "\xFF",
        "\xE6\xBC\xA2", "\xE3\x80\x82", "Ann: ", "\"", ")", "3.1", "...", "# ", "- ", "?"
    };
    char *const text = malloc(size + 8);
    size_t used = 0;

    ck_assert_ptr_nonnull(text);
    while (used < size) {
        const char *part;

        seed = seed * 1664525u + 1013904223u;
        part = parts[(seed >> 16) % (sizeof(parts) / sizeof(*parts))];
        memcpy(text + used, part, strlen(part));
        used += strlen(part);
    }
    text[used] = '\0';
    return text;
}

/* A document about three subjects, one after another. */
static inline char *subjects(int sentences)
{
    static const char *const words[3][24] = {
        { "harbour", "sail", "anchor", "tide", "vessel", "captain", "rudder", "compass", "galley",
          "mast", "cargo", "pier", "lagoon", "storm", "rigging", "lantern", "seagull", "current",
          "keel", "voyage", "pilot", "deck", "rope", "island" },
        { "orchard", "apple", "blossom", "harvest", "ladder", "basket", "cider", "branch", "pear",
          "meadow", "pruning", "root", "beehive", "autumn", "plum", "cherry", "picker", "seedling",
          "frost", "graft", "barrel", "fence", "garden", "wagon" },
        { "engine", "piston", "gasket", "throttle", "torque", "cylinder", "camshaft", "valve",
          "clutch", "gearbox", "exhaust", "radiator", "bearing", "lubricant", "ignition", "spark",
          "turbine", "manifold", "flywheel", "injector", "coolant", "axle", "bolt", "sensor" }
    };
    char *const text = malloc((size_t)sentences * 128 + 1);
    size_t used = 0;
    uint32_t seed = 7;

    ck_assert_ptr_nonnull(text);
    text[0] = '\0';
    for (int i = 0; i < sentences; i++) {
        for (int k = 0; k < 10; k++) {
            seed = seed * 1664525u + 1013904223u;
            used += (size_t)sprintf(text + used, "%s%s", k ? " " : "The ",
                                    words[i * 3 / sentences][(seed >> 16) % 24]);
        }
        used += (size_t)sprintf(text + used, ". ");
    }
    return text;
}

#endif
