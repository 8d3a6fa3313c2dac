/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The libraries of this machine that multiply matrices, as heed finds them: CLBlast on the first
 * device of OpenCL, by kernels of work-groups, and cuBLASLt on the first one of CUDA. 240 products
 * of each type are drawn, whose sums are exact.
 */
#include "gemm_products.h"

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

/* Mostly small ones: large ones, which libraries compute by other kernels, are rare. */
static struct shape shape_draw(uint32_t *state, uint32_t dtype)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 200 };
    const bool large = draw(state, 40) == 0;
    struct shape s = { .dtype = dtype, .stride = 1 };
    int64_t *const extents[] = { &s.m, &s.n, &s.k };

    for (int i = 0; i < 3; i++)
        *extents[i] = large ? 600 + draw(state, 40) : sizes[draw(state, 16)];
    s.batch = large ? 1 : 1 + draw(state, 3);
    s.heads = large ? 1 : 1 + draw(state, 3);
    s.x = (int)draw(state, 4);
    s.w = (int)draw(state, 4);
    s.y = (int)draw(state, 4);
    if (s.m == 1) {                 /* items become rows, which cannot be turned */
        s.x %= TURNED;
        s.y %= TURNED;
    }
    s.shared = draw(state, 2);
    s.offset = draw(state, 9);
    if (s.x < TURNED)
        s.stride = 1 + draw(state, 2);
    s.out = dtype == HEED_F32 || draw(state, 2) ? HEED_F32 : dtype;
    if (s.out != HEED_F32 && s.k > 200)
        s.k = 200;
    return s;
}

/* How many there were. worked: how many wanted a workspace, as the library's tables for the device
 * say. */
static int device_walk(heed_device *device, const uint32_t *dtypes, const char *library,
                       int *worked)
{
    uint32_t state = 1;
    int n = 0;

    for (int i = 0; dtypes[i] != 0; i++) {
        for (int k = 0; k < 240; k++, n++) {
            const struct shape shape = shape_draw(&state, dtypes[i]);

            *worked += shape_run(device, &shape, library);
        }
    }
    return n;
}

static const struct row {
    const char *device, *library;
    uint32_t dtypes[4];
} rows[] = {
    { "opencl:0:workgroup", "clblast", { HEED_F32 } },
    { "cuda:0", "cublaslt", { HEED_F32, HEED_F16, HEED_BF16 } },
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* NULL: it is not here, or has no library. */
static heed_device *device_of(heed_runtime *runtime, const struct row *row, char text[128])
{
    heed_device *device = NULL;

    snprintf(text, 128, "not here");
    if (heed_device_find(runtime, row->device, &device, NULL) < 0 ||
        heed_device_gemm(device, text, 128) < 0)
        device = NULL;
    return device;
}

LOOP_TEST(sums_of_libraries_are_exact, N_ROWS)
{
    const heed_runtime_desc desc = { .size = sizeof desc };
    heed_runtime *runtime = NULL;
    heed_device *device;
    char text[128];
    int worked = 0;

    ck_assert_int_eq(heed_runtime_create(&desc, &runtime, NULL), HEED_OK);
    device = device_of(runtime, &rows[_i], text);
    if (device != NULL) {
        const int n = device_walk(device, rows[_i].dtypes, rows[_i].library, &worked);

        printf("%s: %d products by %s, %d with a workspace\n", rows[_i].device, n, text, worked);
    } else {
        printf("%s: skipped: %s\n", rows[_i].device, text);
    }
    heed_runtime_destroy(runtime);
}

int main(void)
{
    return suite_run("gemm-real", 900, NULL, NULL);
}
