/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors on their way from the files to the device: looked up by names that are put together, held
 * against the extents that config.json wants, brought over in the type that was asked for.
 */
#ifndef MODEL_LOADING_H
#define MODEL_LOADING_H

#include "weights.h"

/* One load in the making. */
struct loading {
    struct parameters *p;
    heed_queue *queue;
    struct checkpoint files;
    const struct weights_options *options;
    const char *root;
    uint32_t dtype;            /* What matrices become; 0: they stay as they are. */
    void *stage;               /* Bytes on their way to a device. */
    int64_t stage_bytes;
    uint64_t done, all;
    heed_report *report;
};

/* Parts of a name one behind the other, up to a NULL; what is too long is the name of nothing. */
const char *name_of(char to[CHECKPOINT_NAME], const char *const *parts);
#define NAME_OF(to, ...) name_of(to, (const char *const[]){ __VA_ARGS__, NULL })

/* "layers.%d.", with the number in the place of "%d". */
const char *layer_name(char to[CHECKPOINT_NAME], const char *form, int64_t which);

uint64_t bytes_of(const heed_tensor *t);

/* The tensor of a name with the root before it; `wanted`: its absence is a mistake. An extent of
 * -1 may be any. */
heed_status take(struct loading *l, const char *name, uint32_t ndim, const int64_t *shape,
                 bool wanted, struct param *to);

/* Weight and, if `biased`, bias of a role's extents. */
heed_status take_pair(struct loading *l, const struct stack *stack, const struct role *role,
                      const char *name, bool wanted, bool biased, struct pair *to);

#endif
