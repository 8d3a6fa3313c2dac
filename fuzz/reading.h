/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the targets of heed-summarize's readers share: any bytes become a stream whose blocks are in
 * order and know where they came from, and sentences that lie within them.
 */
#ifndef HEED_FUZZ_READING_H
#define HEED_FUZZ_READING_H

#include "fuzz.h"

#include "examples/summarize/read.h"

/** Reads bytes in a format, NULL: the one they look like, and judges all that is made of them. */
void fuzz_reading(const char *format, const uint8_t *data, size_t size);

/** Judges what a reader put into a stream, in this process, and frees it. */
void fuzz_stream(struct stream *stream);

/** The seed of a number: three of the `n` texts, one after another. */
size_t fuzz_reading_seed(uint32_t number, const char *const *texts, size_t n,
                         uint8_t data[FUZZ_INPUT_MOST]);

#endif
