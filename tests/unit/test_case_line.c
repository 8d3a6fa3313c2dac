/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of cases that somebody hostile writes: each is refused with a reason, or is a case that can
 * be made, checked and printed.
 */
#include "conform/engine/devices.h"
#include "conform/engine/subject.h"
#include "support/suite.h"

#include <inttypes.h>
#include <string.h>

enum { WORK_SMALL = 200000 }; /* of a case whose arrays are filled */

static const int64_t hostile[] = {
    0, -1, 1, 2, 3, 63, 64, 65, 255, 4095, 4096, 4097, 65535, 65536, 65537, -65536, INT32_MAX,
    INT32_MIN, INT64_C(1) << 31, INT64_C(1) << 32, (INT64_C(1) << 30) + 1, -(INT64_C(1) << 30) - 1,
    INT64_C(1) << 62, INT64_MAX, INT64_MIN, HEED_FAR,
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

static struct target reference;
static struct {
    int64_t taken, refused, filled;
} met;

static void open_reference(void)
{
    ck_assert(cf_target_open(&reference, "reference", 1, NULL));
}

/* What the kit does with every case. */
static void case_use(const struct cs *c)
{
    const bool data = cf_op->work(c) <= WORK_SMALL;
    void *const p = cf_op->families->problem(c, data);

    ck_assert_ptr_nonnull(p);
    cf_op->families->problem_free(p);
    cf_check(reference.device, c, NULL);
    met.filled += data;
}

static void line_try(const char *line)
{
    char why[128] = "", again[LINE];
    struct cs c, same;

    if (!cf_case_parse(line, &c, why)) {
        ck_assert_msg(why[0], "%s: refused without a reason", line);
        met.refused++;
        return;
    }
    met.taken++;
    cf_case_print(&c, again);
    ck_assert_msg(cf_case_parse(again, &same, why), "%s: %s: %s", line, again, why);
    ck_assert_msg(!memcmp(c.v, same.v, (size_t)cf_n_fields * sizeof *c.v), "%s: %s", line, again);
    case_use(&c);
}

/* What it needs to have a meaning, which those fields need in turn. */
static void activate(struct rng *r, struct cs *c, int field)
{
    const struct field *f = &cf_fields[field];

    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        const struct field *parent = &cf_fields[f->parent[i]];
        int level = cf_level_of(f->parent[i], c->v[f->parent[i]]);

        while (level < 0 || !(f->mask[i] >> level & 1))
            level = (int)rng_below(r, parent->n_levels);
        c->v[f->parent[i]] = parent->level[level];
        activate(r, c, f->parent[i]);
    }
}

TEST(one_hostile_number_in_any_field)
{
    struct rng r = rng_of(1);
    char line[LINE];

    open_reference();
    for (int op = 0; op < cf_n_ops; op++) {
        cf_op_use(cf_ops[op]);
        for (int i = 0; i < cf_n_fields; i++) {
            for (int h = 0; h < HOSTILE && !cf_fields[i].words; h++) {
                struct cs c;

                cf_case_default(&c);
                activate(&r, &c, i);
                c.v[i] = hostile[h];
                cf_case_print(&c, line);
                line_try(line);
            }
        }
    }
    ck_assert_int_gt(met.taken, 1000);
    ck_assert_int_gt(met.refused, 1000);
    ck_assert_int_gt(met.filled, 300);
    cf_target_close(&reference);
}

/* Words and levels as they come, a few hostile numbers, now and then a byte. */
static void line_draw(struct rng *r, char line[LINE])
{
    struct cs c;

    cf_case_default(&c);
    c.seed = rng_next(r);
    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];

        if (rng_below(r, 4) == 0)
            c.v[i] = f->level[rng_below(r, f->n_levels)];
        if (!f->words && rng_below(r, 24) == 0)
            c.v[i] = rng_below(r, 3) ? rng_range(r, f->low - 1, f->low + 4)
                                     : hostile[rng_below(r, HOSTILE)];
    }
    cf_case_normalize(&c);
    cf_case_print(&c, line);
    while (rng_below(r, 6) == 0)
        line[rng_below(r, (int64_t)strlen(line))] = (char)rng_range(r, 1, 127);
}

TEST(drawn_lines)
{
    const int64_t lines = suite_all() ? 200000 : 10000;
    struct rng r = rng_of(2);
    char line[LINE];

    open_reference();
    for (int64_t i = 0; i < lines; i++) {
        cf_op_use(cf_ops[i % cf_n_ops]);
        line_draw(&r, line);
        line_try(line);
    }
    ck_assert_int_gt(met.taken, lines / 10);
    ck_assert_int_gt(met.refused, lines / 10);
    cf_target_close(&reference);
}

int main(void)
{
    cf_op_use(cf_ops[0]);
    return suite_run("case_line", 240, NULL, NULL);
}
