/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a plan of attention to its blob (kernels/attn/blob.h).
 */
#ifndef HEED_BACKENDS_DEVICE_BLOB_H
#define HEED_BACKENDS_DEVICE_BLOB_H

#include "../../lib/spans.h"
#include "../kernels/attn/blob.h"
#include "frame.h"

/* Channels that a work-group's kernel is made for, 64 or 128; more channels of V take several
 * groups. */
int64_t heed_group_width(const struct heed_checked *, const struct heed_device_traits *);

/* Do work-groups for few rows attend (kernels/attn/attend_few.cl)? */
bool heed_group_few(const struct heed_plan *, const struct heed_device_traits *);

/* Does it need the kernels with many buffers? 1 or 0. */
uint32_t heed_plan_large(const struct heed_plan *, const struct heed_device_traits *);

/* A range of keys for each row of every sub-source is all there is to know of the pattern
 * (kernels/attn/range.h). */
bool heed_plan_one_range(const struct heed_plan *);

/* Do rows go through a processor's unit for pairs of bf16 (kernels/attn/halves.h)? Only where other
 * bits than those of EXACT are asked for. */
bool heed_plan_halves(const struct heed_plan *, const struct heed_device_traits *);

/* Is source number s LISTED? */
bool heed_source_listed(const struct heed_plan *, uint32_t s);

/* Do strips of work-groups have rows of many lists (kernels/attn/listed.h)? */
bool heed_group_lists(const struct heed_plan *, const struct heed_device_traits *);

uint32_t heed_group_threads(const struct heed_checked *, const struct heed_device_traits *);

/* The fixed part: sizes, strips, workspace; false: something leaves 61 bits. *workspace: bytes. */
bool heed_blob_plan(const struct heed_plan *, const struct heed_device_traits *, struct hk_plan *,
                     struct hk_source *sources, uint64_t *workspace);

/* Lanes: where source number s has K in panels. source: element s of the array of all. */
void heed_panels_find(const struct heed_plan *, const struct heed_device_traits *, uint32_t s,
                      struct hk_plan *, struct hk_source *source, struct heed_room *);

/* Chunks of an item that the sub-sources before number `sub` have at most. */
double heed_blob_chunks(const struct heed_plan *, uint32_t sub);

/* parts and chunks of the plan, of which tasks and strips are known. */
void heed_parts_find(const struct heed_plan *, const struct heed_device_traits *, struct hk_plan *,
                     struct heed_room *);

/* Bytes of the blob, 0 if they are too many, with the places of its parts set in the plan part. */
uint64_t heed_blob_size(const struct heed_plan *, struct hk_plan *);

/* Writes it all. sources: as heed_blob_plan left them. */
void heed_blob_write(const struct heed_plan *, const struct hk_plan *,
                      const struct hk_source *sources, char *blob);

#endif
