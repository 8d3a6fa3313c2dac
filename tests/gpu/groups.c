/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plan of attention starts on a GPU that is not here: a line of standard input
 *     batch heads key_heads rows keys d dtype causal left right group_rows group_sums
 * (dtype: 1 f32, 2 f16, 3 bf16; left, right -1: no window) becomes a line of output: for each
 * launch its kernel, threads of a group, groups. Memory of the device is the host's; nothing runs.
 */
#include "planning.h"

struct line {
    int64_t b, h, hk, n_q, n_k, d, left, right;
    uint32_t dtype, causal, group_rows, group_sums;
};

static heed_tensor rows_of(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    return heed_array4(dtype, NULL, b, h, n, d).t;
}

static heed_status plan_make(const struct line *l, heed_device *device, heed_plan **plan,
                             heed_report *why)
{
    const heed_term window = { .kind = HEED_TERM_WINDOW, .left = l->left, .right = l->right };
    const heed_source source = {
        .k = rows_of(l->dtype, l->b, l->hk, l->n_k, l->d),
        .v = rows_of(l->dtype, l->b, l->hk, l->n_k, l->d),
        .flags = l->causal ? HEED_SOURCE_CAUSAL : 0,
        .terms = &window,
        .n_terms = l->left < 0 ? 0 : 1,
        .term_size = sizeof(window),
    };
    const heed_attn_desc desc = {
        .size = sizeof(desc),
        .q = rows_of(l->dtype, l->b, l->h, l->n_q, l->d),
        .o = rows_of(l->dtype, l->b, l->h, l->n_q, l->d),
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
    };

    return heed_attn_plan(device, &desc, plan, why);
}

static int answer(const struct line *l, heed_runtime *rt)
{
    struct heed_device_state state = {
        .driver = &planning_driver,
        .services = &rt->services,
        .traits = { .shape = HEED_SHAPE_WORKGROUP, .workers = 132, .tile_rows = 6,
                    .group_rows = l->group_rows, .group_sums = l->group_sums },
    };
    heed_device device = {
        .runtime = rt, .backend = &planning_backend, .state = &state,
        .props = { .exact = 1, .usable = HEED_OK },
    };
    heed_report why = { .size = sizeof(why) };
    const struct heed_device_plan *made;
    heed_plan *plan = NULL;

    if (plan_make(l, &device, &plan, &why) < 0) {
        fprintf(stderr, "groups: %s\n", why.message);
        return 1;
    }
    made = plan->state;
    for (uint32_t i = 0; i < made->n_launches; i++)
        printf("%s%s %" PRIu32 " %" PRIu64, i > 0 ? " " : "",
               heed_kernel_rows[made->launches[i].kernel].name, made->launches[i].threads,
               made->launches[i].groups);
    puts("");
    heed_plan_drop(plan);
    return 0;
}

int main(void)
{
    heed_runtime *rt = NULL;
    struct line l;
    int bad = heed_runtime_create(NULL, &rt, NULL) < 0;

    while (!bad && scanf("%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64 "%" SCNd64
                         "%" SCNu32 "%" SCNu32 "%" SCNd64 "%" SCNd64 "%" SCNu32 "%" SCNu32,
                         &l.b, &l.h, &l.hk, &l.n_q, &l.n_k, &l.d, &l.dtype, &l.causal, &l.left,
                         &l.right, &l.group_rows, &l.group_sums) == 12)
        bad = answer(&l, rt);
    heed_runtime_destroy(rt);
    return bad;
}
