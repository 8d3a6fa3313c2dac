/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as plain text, and the ends of its sentences in all languages.
 */
#include "reading.h"

static const char *const texts[] = {
    "Dr. Lee met J. Poe at 5 p.m. in the U.S. The end... (Yes.) \"No!\" [3] 3.14\n\n",
    "Am 3. M\xC3\xA4rz z. B. kam \xE2\x80\x9E" "Er.\xE2\x80\x9C Ludwig XIV. ging usw. weg.\n",
    "\xC2\xAB Oui ! \xC2\xBB dit-il. M. X, etc. Le pr. \xC2\xBFY? \xC2\xA1Ya!\n",
    "\xD0\x90. \xD0\xA1. \xD0\x9F. \xE2\x80\x94 \xD0\x94\xD0\xB0. \xD1\x82. \xD0\xB4.\n",
    "今。“好！”说」と\n",
    "[10:02] Ann: hi\n- item one.\n1. two\n====\nA ..... 12\n| a | b |\nso\xC2\xAD" "ft\f- 7 -\n"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading("plain", data, size);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    return fuzz_reading_seed(number, texts, sizeof(texts) / sizeof(*texts), data);
}
