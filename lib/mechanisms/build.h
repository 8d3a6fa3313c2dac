/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the builders of heed/mechanisms.h share. A builder works on a mechanism of its own; only
 * heed_builder_finish() writes to the caller's.
 *
 *     struct heed_builder b;
 *     heed_x_desc d;
 *     heed_status status = heed_builder_open(&b, given, DESC_V1, &d, sizeof(d), out, report);
 *
 *     if (status >= 0)
 *         status = heed_builder_range(&b, "window", &d.window, 256, MOST);
 *     ...
 *     if (status < 0)
 *         return status;
 *     source = heed_builder_source(&b, &d.text, 0);
 *     *heed_builder_term(&b) = (heed_term){ ... };
 *     return heed_builder_finish(&b, out);
 *
 * Terms and biases belong to the source that was added last.
 */
#ifndef HEED_LIB_MECHANISMS_BUILD_H
#define HEED_LIB_MECHANISMS_BUILD_H

#include <heed/mechanisms.h>

#include <stdbool.h>

/* Windows and radii: with any dilation below 2^20 sums stay below 2^60. */
#define HEED_MOST_WINDOW (INT64_C(1) << 40)

struct heed_builder {
    heed_mechanism m;
    heed_report *report;
    uint32_t n_terms, n_biases;
};

/* An empty mechanism. */
void heed_builder_begin(struct heed_builder *b, heed_report *report);

/* The same, and reads the caller's descriptor into `desc`; every descriptor begins with size,
 * flags. `flags`: the known ones. */
HEED_MUST_CHECK
heed_status heed_builder_open(struct heed_builder *b, const void *given, size_t v1, void *desc,
                              size_t known, uint32_t flags, const heed_mechanism *out,
                              heed_report *report);

/* HEED_E_VALUE unless low <= value <= most. */
HEED_MUST_CHECK
heed_status heed_builder_within(const struct heed_builder *b, const char *field, int64_t value,
                                int64_t low, int64_t most);

/* A parameter from 1 to `most`; 0 becomes `standard`. */
HEED_MUST_CHECK
heed_status heed_builder_range(const struct heed_builder *b, const char *field, int64_t *value,
                               int64_t standard, int64_t most);

/* Extent of an axis, counted from the last one (1); HEED_E_NULL and HEED_E_VALUE for what has no
 * such axes. */
HEED_MUST_CHECK
heed_status heed_builder_extent(const struct heed_builder *b, const char *field,
                                const heed_tensor *t, uint32_t axis, int64_t *extent);

/* Both arrays of a set of keys are there; *n: how many keys. */
HEED_MUST_CHECK
heed_status heed_builder_keys(const struct heed_builder *b, const char *name,
                              const heed_keys *keys, int64_t *n);

/* q, o and the text of a self-attention: *n is n_q, which must be n_k. */
HEED_MUST_CHECK
heed_status heed_builder_self(struct heed_builder *b, const heed_tensor *q, const heed_tensor *o,
                              const heed_keys *text, int64_t *n);

/* q, o and keys of any lengths. */
HEED_MUST_CHECK
heed_status heed_builder_cross(struct heed_builder *b, const heed_tensor *q, const heed_tensor *o,
                               const heed_keys *text);

/* Rows beyond the length of set 0 see nothing. */
void heed_builder_row_lengths(struct heed_builder *b, const heed_keys *text);

/* A number of slot: the array becomes that slot. Absent: 0. */
uint32_t heed_builder_slot(struct heed_builder *b, uint32_t number, const heed_slot *slot);

/* Adds a source that reads set `set` of keys, with its length and mask; it has no term yet. */
heed_source *heed_builder_source(struct heed_builder *b, const heed_keys *keys, uint32_t set);
heed_term *heed_builder_term(struct heed_builder *b);
heed_bias *heed_builder_bias(struct heed_builder *b);

/* Writes the caller's. */
heed_status heed_builder_finish(const struct heed_builder *b, heed_mechanism *out);

#endif
