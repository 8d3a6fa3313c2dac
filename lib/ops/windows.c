/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows of rows, for the operations that have them.
 */
#include "windows.h"

#include <heed/pool.h>

#define KERNEL_MAX ((int64_t)1 << 24)

/* What a window's centre lies behind its first token but `left`. */
static int64_t centre_of(int64_t kernel)
{
    return (kernel + 2) / 2 - 1;
}

heed_status heed_windows_check(const struct heed_arrays *a, const struct heed_windows *d)
{
    const bool centre = d->tail == HEED_TAIL_CENTRE;
    const bool adjoin = d->tail == HEED_TAIL_JOIN || d->tail == HEED_TAIL_END;
    heed_status status = heed_arrays_limit(a, "kernel", d->kernel, 1, INT64_MAX, "at least 1");

    if (status >= 0 && d->kernel > KERNEL_MAX)
        status = heed_where_fail(&a->where, HEED_E_UNSUPPORTED, "kernel", KERNEL_MAX, d->kernel,
                                 "longer windows are not counted exactly");
    if (status >= 0)
        status = heed_arrays_limit(a, "stride", d->stride, adjoin ? d->kernel : 1,
                                   adjoin || d->tail == HEED_TAIL_CEIL ? d->kernel : INT64_MAX,
                                   adjoin ? "windows of JOIN and END adjoin: stride is kernel"
                                          : "at least 1, and with CEIL at most kernel");
    if (status >= 0)
        status =
            heed_arrays_limit(a, "left", d->left, 0, centre ? centre_of(d->kernel) : 0,
                              centre ? "at most ceil((1 + kernel)/2) - 1" : "only CENTRE takes it");
    return status;
}

int64_t heed_windows_count(const struct heed_windows *d, int64_t n)
{
    const int64_t kernel = d->kernel, stride = d->stride;
    const int64_t centre = centre_of(kernel) - d->left;

    switch (d->tail) {
    case HEED_TAIL_FLOOR:
        return n < kernel ? 0 : (n - kernel) / stride + 1;
    case HEED_TAIL_CEIL:
        return n == 0 ? 0 : n <= kernel ? 1 : (n - kernel - 1) / stride + 2;
    case HEED_TAIL_CENTRE:
        return n <= centre ? 0 : (n - 1 - centre) / stride + 1;
    case HEED_TAIL_JOIN:
        return n < kernel ? 0 : n / stride;
    case HEED_TAIL_END:
        return n / stride + (n % stride != 0);
    }
    return 0; /* the operation knows them all */
}
