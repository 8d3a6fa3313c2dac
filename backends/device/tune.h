/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sizes found by measurement (docs/measurements). They change speed, never bits.
 */
#ifndef HEED_BACKENDS_DEVICE_TUNE_H
#define HEED_BACKENDS_DEVICE_TUNE_H

#define HEED_TUNE_ROWS 192          /* rows of a strip: its scores, sums and outputs stay in L2 */
#define HEED_TUNE_ROWS_MIN 24
#define HEED_TUNE_LIST_ROWS 16      /* rows of a list, at most, of which a strip has many */
#define HEED_TUNE_HALVES_ROWS 512   /* of a strip whose rows stay bf16: it packs what it reads */
#define HEED_TUNE_HALVES_LEAST 8    /* rows that share keys, from which bf16 stays such */
#define HEED_TUNE_STRIPS 16         /* strips a worker, at least, before strips are halved */
#define HEED_TUNE_RUN 16            /* strips in a row that a worker takes, with rings */
#define HEED_TUNE_ITEM_TASKS 4      /* parts a worker, at least, where items share strips */
#define HEED_TUNE_STRETCHES 16      /* of a worker at most (bias_lanes.h) */
#define HEED_TUNE_BANDS 4           /* of a worker at most (dot_lanes.h) */
#define HEED_TUNE_BAND_WIDTH 256    /* channels at most where bands keep more than a block wants */
#define HEED_TUNE_PARTS 32          /* parts a worker, at least, where strips are cut by keys */
#define HEED_TUNE_PART_CHUNKS 4     /* chunks of a part at most: a run's lengths may be short */
#define HEED_TUNE_CHUNKS_BYTES 0x1p28   /* of the workspace for what comes of chunks, at most */
/* Work-groups of attend_few.cl: for so many rows that share keys; for more of them, up to the
 * second number, only where there are fewer strips of many rows than the third. Parts have one
 * chunk as long as they make no more groups than the fourth. Last: as HEED_TUNE_CHUNKS_BYTES. */
#define HEED_TUNE_FEW_ROWS 16
#define HEED_TUNE_FEW_ROWS_MOST 64
#define HEED_TUNE_FEW_STRIPS 256
#define HEED_TUNE_GROUP_PARTS 4096
#define HEED_TUNE_GROUP_CHUNKS_BYTES 0x1p30
/* Work-groups for many rows: strips with keys so many times the mean are cut, which is that of so
 * many strips at most. */
#define HEED_TUNE_CUT_RATIO 4
#define HEED_TUNE_CUT_SAMPLES 256
#define HEED_TUNE_TASKS_MAX 0x7fff0000
/* What a unit of a GPU does in a second at least, whatever the kernel: launches are cut so that
 * they end in about a second, as drivers end those that take long: 2 s on Windows. */
#define HEED_TUNE_UNIT_FLOPS 5e9
#define HEED_TUNE_UNIT_BYTES 5e8
#define HEED_TUNE_UNIT_GROUPS 8     /* that lie on a unit together, or more */
#define HEED_TUNE_FEW_GROUPS 16     /* at once where a processor poses as a GPU, for tests */
#define HEED_TUNE_SCRATCH_GROUPS 512    /* work-groups of an operation whose groups have scratch */

#endif
