/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights of a folder: model.safetensors, or what model.safetensors.index.json names, opened as
 * hostile input. A header says of each tensor its type, extents and bytes; these must be disjoint,
 * without holes, and as many as type and extents want.
 */
#ifndef MODEL_CHECKPOINT_H
#define MODEL_CHECKPOINT_H

#include "file.h"
#include "json.h"

enum { CHECKPOINT_FILES = 256, CHECKPOINT_AXES = 4, CHECKPOINT_NAME = 256 };

/* One tensor. */
struct weight {
    const char *name;          /* Without a NUL. */
    uint32_t name_bytes, dtype; /* dtype: HEED_F32, HEED_F16, HEED_BF16; 0: none of heed's. */
    uint32_t ndim, file;
    int64_t shape[CHECKPOINT_AXES];
    int64_t begin, bytes;      /* Of the file. */
};

struct checkpoint {
    struct file files[CHECKPOINT_FILES];
    char *headers[CHECKPOINT_FILES];
    uint32_t n_files;
    struct weight *weights;    /* By name. */
    size_t n, room;
};

/* HEED_E_NOT_FOUND the folder has no weights of this form; HEED_E_VALUE what is there makes no
 * sense: the report's field is the file, or the tensor; HEED_E_NOMEM. */
heed_status checkpoint_open(const char *folder, struct checkpoint *out, heed_report *report);
void checkpoint_close(struct checkpoint *checkpoint);

/* A header alone, behind which `data` bytes would lie: tensors begin in these. Names point into the
 * text, which must stay. Statuses as those of checkpoint_open(). */
heed_status checkpoint_parse(const char *text, size_t bytes, int64_t data, struct checkpoint *out,
                             heed_report *report);

/* The number of shards that an index names, all by the one form that names have, 1 to
 * CHECKPOINT_FILES. False: j->error says why. */
bool checkpoint_shards(struct json *j, long *of);

/* NULL: there is none of this name. */
const struct weight *checkpoint_find(const struct checkpoint *checkpoint, const char *name);

/* The weight->bytes bytes of a tensor of a type of heed's, in the order of the machine. */
heed_status checkpoint_read(const struct checkpoint *checkpoint, const struct weight *weight,
                            void *to, heed_report *report);

#endif
