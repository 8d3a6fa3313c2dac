/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A lock for what is done once and may take long: asking for devices, opening them. POSIX threads,
 * not <threads.h>: some C libraries lack that, and checkers of data races do not see it.
 */
#ifndef HEED_LIB_LOCK_H
#define HEED_LIB_LOCK_H

#include "compiler.h"

#include <pthread.h>
#include <stdbool.h>

struct heed_lock {
    pthread_mutex_t mutex;
};

/* false: no memory or no locks left. */
HEED_INLINE bool heed_lock_init(struct heed_lock *lock)
{
    return pthread_mutex_init(&lock->mutex, NULL) == 0;
}

HEED_INLINE void heed_lock_take(struct heed_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

HEED_INLINE void heed_lock_give(struct heed_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

HEED_INLINE void heed_lock_finish(struct heed_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

#endif
