/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of keys that runs touch. A run adds 1 where it begins and takes 1 away behind its end, so
 * that the work grows with runs plus blocks and not with their product.
 */
#include "blocks.h"

#include "../../core/alloc.h"
#include "../../core/error.h"
#include "visible.h"

struct marks {
    int64_t *changes; /* of the number of runs over block i, and one more */
    int64_t block;    /* keys */
};

static void mark(const struct marks *m, int64_t low, int64_t high)
{
    m->changes[low / m->block]++;
    m->changes[(high - 1) / m->block + 1]--;
}

/* Keys that are closer than blocks leave no block out. */
static void run_mark(void *self, int64_t low, int64_t high, int64_t step)
{
    const struct marks *m = self;

    if (step <= m->block) {
        mark(m, low, low + (high - 1 - low) / step * step + 1);
        return;
    }
    for (int64_t key = low; key < high; key += step)
        mark(m, key, key + 1);
}

heed_status heed_blocks_find(const struct heed_checked *attn, const struct heed_lowered *lowered,
                             const void *const *slots, const struct heed_stretch *of, int64_t block,
                             uint8_t *seen, struct heed_arena *arena, heed_report *report)
{
    const int64_t keys = heed_look_room(&attn->sources[of->source]);
    const int64_t n = keys / block + (keys % block > 0);
    struct marks m = { .block = block };
    const struct heed_runs_to to = { run_mark, &m };
    int64_t over = 0;
    heed_status status;

    m.changes = heed_arena_array(arena, (uint64_t)n + 1, sizeof *m.changes, _Alignof(int64_t));
    if (!m.changes)
        return heed_report_fill(report, HEED_E_NOMEM, "", 0, 0, "no memory for the blocks");
    status = heed_runs_find(attn, lowered, slots, of, &to, arena, report);
    for (int64_t i = 0; i < n && status >= 0; i++) {
        over += m.changes[i];
        seen[i] = over > 0;
    }
    return status;
}
