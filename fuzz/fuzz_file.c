/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of whatever they look like.
 */
#include "reading.h"

static const char *const texts[] = {
    "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Hello there. It is\n\n",
    "1\n00:00:01,000 --> 00:00:02,000\n- Bob: text </i>\n\n",
    "LS(1)      User Commands      LS(1)\n\nN\bNA\bAM\bME\bE\n       ls - lists\n\n",
    "       -a, --all  all of it.\n",
    "Head 1\n\nText of a hyph-\nenated page. More\n\f",
    "\xFF\xFE\x61\x01\x2E\x20", "\xFE\xFF\x01\x61\xD8\x3D", "caf\xE9 is Latin. ",
    "From: a\nSubject: b\n\nbody text.\n", "<html><p>x</p>", "# md\n\n[a](http://b)\n```\n"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading(NULL, data, size);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    return fuzz_reading_seed(number, texts, sizeof(texts) / sizeof(*texts), data);
}
