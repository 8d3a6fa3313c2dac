/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The smallest whole program: a sliding window over a long text, with the first key as a global
 * one. Built against an installed heed: cc minimal.c $(pkg-config --cflags --libs heed)
 */
#include <heed/attn.h>

#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 2, ROWS = 1000, DIM = 64, CELLS = HEADS * ROWS * DIM };

static float data[4][CELLS];

int main(void)
{
    heed_report why = { .size = sizeof why };
    heed_runtime *runtime = NULL;
    heed_device *device = NULL;
    heed_queue *queue = NULL;
    const heed_array q = heed_array4(HEED_F32, data[0], 1, HEADS, ROWS, DIM);
    const heed_array k = heed_array4(HEED_F32, data[1], 1, HEADS, ROWS, DIM);
    const heed_array v = heed_array4(HEED_F32, data[2], 1, HEADS, ROWS, DIM);
    const heed_array o = heed_array4(HEED_F32, data[3], 1, HEADS, ROWS, DIM);
    const heed_term see[] = { { .kind = HEED_TERM_WINDOW, .left = 64, .right = 64 },
                              { .kind = HEED_TERM_GLOBAL, .block = 1 } };

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < CELLS; j++)
            data[i][j] = (float)((j * 37 + i * 11) % 101) / 50.0f - 1.0f;
    }
    if (heed_runtime_create(NULL, &runtime, &why) < 0 ||
        heed_device_find(runtime, NULL, &device, &why) < 0 ||
        heed_queue_create(device, 0, &queue, &why) < 0 ||
        heed_attn_simple(queue, &q, &k, &v, &o, see, 2, 0, &why) < 0)
        fprintf(stderr, "%s: %s\n", why.field, why.message);
    else
        printf("row 500 of head 0 begins %.6f %.6f %.6f\n", (double)data[3][500 * DIM],
               (double)data[3][500 * DIM + 1], (double)data[3][500 * DIM + 2]);
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
    return why.status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
