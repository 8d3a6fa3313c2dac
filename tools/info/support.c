/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answers are those of the operations' own checks to tiny descriptors. An operation is a row of
 * a table here, a mechanism a row of that of the patterns, with the numbers of its picture.
 */
#include "support.h"

#include "common/text.h"
#include "patterns/pattern.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <heed/nn.h>
#include <heed/pool.h>

#include <assert.h>
#include <string.h>

struct value {
    const char *name;
    uint32_t value;
};

static const struct value dtypes[] = {
    { "f32", HEED_F32 }, { "f16", HEED_F16 }, { "bf16", HEED_BF16 }
};
static const uint32_t numerics[] = {
    HEED_NUMERICS_EXACT, HEED_NUMERICS_REPEAT, HEED_NUMERICS_FAST, HEED_NUMERICS_BEST
};
enum {
    N_DTYPES = sizeof dtypes / sizeof *dtypes,
    N_NUMERICS = sizeof numerics / sizeof *numerics,
    MAX_REASONS = 64,
    NAME = 24
};

static heed_tensor tensor(uint32_t dtype)
{
    return (heed_tensor){
        .dtype = dtype, .ndim = 3, .shape = { 1, 4, 8 }, .stride = { 32, 8, 1 }
    };
}

static heed_status attn_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_source source = { .k = tensor(dtype), .v = tensor(dtype) };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .q = tensor(dtype),
        .o = tensor(dtype),
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof source,
        .numerics = promise,
    };

    return heed_attn_check(device, &desc, report);
}

static heed_status copy_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_copy_desc desc = {
        .size = sizeof desc, .numerics = promise, .x = tensor(dtype), .y = tensor(dtype)
    };

    return heed_copy_check(device, &desc, report);
}

static heed_status pool_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_pool_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .kind = HEED_POOL_MEAN,
        .kernel = 1,
        .stride = 1,
        .x = tensor(dtype),
        .y = tensor(dtype),
    };

    return heed_pool_check(device, &desc, report);
}

static heed_status select_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                              heed_report *report)
{
    heed_select_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .kind = HEED_SELECT_TOPK,
        .count = 2,
        .q = tensor(dtype),
        .x = tensor(dtype),
        .y = tensor(HEED_I32),
    };

    desc.y.shape[2] = desc.count;
    return heed_select_check(device, &desc, report);
}

static heed_status push_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_tensor number = { .dtype = HEED_I64, .ndim = 1, .shape = { 1 }, .stride = { 1 } };
    const heed_push_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .rows = tensor(dtype),
        .head = number,
        .len = number,
        .x = tensor(dtype),
    };

    return heed_push_check(device, &desc, report);
}

static heed_status merge_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                             heed_report *report)
{
    heed_merge_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .parts = tensor(dtype),
        .parts_lse = tensor(HEED_F32),
        .o = tensor(dtype),
    };

    desc.parts_lse.ndim = 2; /* a part, its rows */
    desc.o.shape[0] = 4;     /* one part less, and no head axis */
    desc.o.shape[1] = 8;
    desc.o.stride[0] = 8;
    desc.o.stride[1] = 1;
    desc.o.ndim = 2;
    return heed_merge_check(device, &desc, report);
}

/* o has the type asked for: states are f32. */
static heed_status state_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                             heed_report *report)
{
    heed_state_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .states = tensor(HEED_F32),
        .o = tensor(dtype),
    };

    desc.states.ndim = 3; /* a state, its rows */
    desc.states.shape[0] = 1;
    desc.states.shape[1] = 4;
    desc.states.shape[2] = HEED_STATE_SUMS + 8;
    desc.states.stride[1] = HEED_STATE_SUMS + 8;
    desc.states.stride[2] = 1;
    desc.o.shape[0] = 4;
    desc.o.shape[1] = 8;
    desc.o.stride[0] = 8;
    desc.o.stride[1] = 1;
    desc.o.ndim = 2;
    return heed_state_check(device, &desc, report);
}

static heed_status norm_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_norm_desc desc = {
        .size = sizeof desc, .numerics = promise, .x = tensor(dtype), .y = tensor(dtype)
    };

    return heed_norm_check(device, &desc, report);
}

static heed_status rope_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    heed_rope_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .x = tensor(dtype),
        .cos = { .dtype = HEED_F32, .ndim = 2, .shape = { 4, 4 }, .stride = { 4, 1 } },
        .y = tensor(dtype),
    };

    desc.sin = desc.cos;
    return heed_rope_check(device, &desc, report);
}

static heed_status act_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                           heed_report *report)
{
    const heed_act_desc desc = {
        .size = sizeof desc, .numerics = promise, .x = tensor(dtype), .y = tensor(dtype)
    };

    return heed_act_check(device, &desc, report);
}

/* State and factors are f32. */
static heed_status recur_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                             heed_report *report)
{
    heed_recur_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .q = tensor(dtype),
        .k = tensor(dtype),
        .v = tensor(dtype),
        .state = tensor(HEED_F32),
        .o = tensor(dtype),
    };

    desc.state.shape[1] = 8;
    desc.state.stride[0] = 64;
    return heed_recur_check(device, &desc, report);
}

static heed_status embed_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                             heed_report *report)
{
    heed_embed_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .table = tensor(dtype),
        .ids = { .dtype = HEED_I32, .ndim = 1, .shape = { 4 }, .stride = { 1 } },
        .y = tensor(dtype),
    };

    desc.table.ndim = 2; /* rows of 8, as y has */
    desc.table.shape[0] = 4;
    desc.table.shape[1] = 8;
    desc.table.stride[0] = 8;
    desc.table.stride[1] = 1;
    return heed_embed_check(device, &desc, report);
}

/* Ids have no floats, so every type has the same answer. */
static heed_status order_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                             heed_report *report)
{
    const heed_tensor ids = { .dtype = HEED_I32, .ndim = 1, .shape = { 4 }, .stride = { 1 } };
    const heed_order_desc desc = {
        .size = sizeof desc, .numerics = promise, .count = 2, .ids = ids, .order = ids
    };

    (void)dtype;
    return heed_order_check(device, &desc, report);
}

static heed_status linear_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                              heed_report *report)
{
    const heed_tensor rows = tensor(dtype);
    const int64_t d = rows.shape[rows.ndim - 1];
    const heed_linear_desc desc = {
        .size = sizeof desc,
        .numerics = promise,
        .x = rows,
        .w = { .dtype = dtype, .ndim = 2, .shape = { d, d }, .stride = { d, 1 } },
        .y = rows,
    };

    return heed_linear_check(device, &desc, report);
}

static heed_status gate_ask(heed_device *device, uint32_t dtype, uint32_t promise,
                            heed_report *report)
{
    const heed_gate_desc desc = {
        .size = sizeof desc, .numerics = promise, .memory = tensor(dtype),
        .update = tensor(dtype), .gate = tensor(dtype), .y = tensor(dtype),
    };

    return heed_gate_check(device, &desc, report);
}

static const struct operation {
    const char *name;
    heed_status (*ask)(heed_device *, uint32_t dtype, uint32_t promise, heed_report *);
} operations[] = {
    { "attn", attn_ask }, { "copy", copy_ask },   { "pool", pool_ask },   { "select", select_ask },
    { "push", push_ask }, { "merge", merge_ask }, { "state", state_ask }, { "norm", norm_ask },
    { "rope", rope_ask }, { "act", act_ask },
    { "recur", recur_ask }, { "embed", embed_ask }, { "order", order_ask },
    { "linear", linear_ask }, { "gate", gate_ask },
};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

static heed_status mechanism_ask(uint32_t index, heed_device *device, uint32_t dtype,
                                 uint32_t promise, heed_report *report)
{
    struct pattern_choice choice;
    struct pattern pattern;
    heed_status status;

    if (!pattern_parse(pattern_name(index), PATTERN_OF_PICTURE, &choice, report->message,
                       sizeof report->message))
        return report->status = HEED_E_INTERNAL;
    choice.dtype = dtype;
    status = pattern_make(&choice, &pattern, report);
    if (status < 0)
        return status;
    pattern.m.desc.numerics = promise;
    status = heed_attn_check(device, &pattern.m.desc, report);
    pattern_free(&pattern);
    return status;
}

/* Rows of a table: operations, or mechanisms. */
struct subject {
    const char *kind;
    int width;                          /* of the first column */
    const char *(*name)(uint32_t index); /* NULL behind the last one */
    heed_status (*ask)(uint32_t index, heed_device *, uint32_t dtype, uint32_t promise,
                       heed_report *);
};

static const char *operation_name(uint32_t index)
{
    return index < N_OPERATIONS ? operations[index].name : NULL;
}

static heed_status operation_ask(uint32_t index, heed_device *device, uint32_t dtype,
                                 uint32_t promise, heed_report *report)
{
    return operations[index].ask(device, dtype, promise, report);
}

static const struct subject subjects[] = {
    { "operation", 9, operation_name, operation_ask },
    { "mechanism", 21, pattern_name, mechanism_ask },
};

/* ---- table ------------------------------------------------------------------ */

struct reasons {
    char text[MAX_REASONS][sizeof((heed_report *)0)->message];
    int count;
};

/* The number of a reason, from 1; those beyond the room share the last one. */
static int reason_number(struct reasons *reasons, const heed_report *report)
{
    const char *text = report->message[0] ? report->message : heed_status_name(report->status);

    for (int i = 0; i < reasons->count; i++) {
        if (!strcmp(reasons->text[i], text))
            return i + 1;
    }
    if (reasons->count < MAX_REASONS)
        snprintf(reasons->text[reasons->count++], sizeof reasons->text[0], "%s", text);
    return reasons->count;
}

static void row_print(const struct subject *of, uint32_t index, heed_device *device,
                      const char *name, const struct value *dtype, struct reasons *reasons)
{
    printf("%-*s  %-*s  %-5s", of->width, of->name(index), NAME, name, dtype->name);
    for (int i = 0; i < N_NUMERICS; i++) {
        heed_report report = { .size = sizeof report };
        char cell[16] = "yes";

        if (of->ask(index, device, dtype->value, numerics[i], &report) < 0)
            snprintf(cell, sizeof cell, "no [%d]", reason_number(reasons, &report));
        printf("  %-7s", cell);
    }
    putchar('\n');
}

static void table_print(const struct subject *of, const heed_runtime *runtime)
{
    struct reasons reasons = { .count = 0 };

    printf("%-*s  %-*s  %-5s", of->width, of->kind, NAME, "device", "dtype");
    for (int i = 0; i < N_NUMERICS; i++)
        printf("  %-7s", text_numerics(numerics[i]));
    putchar('\n');
    for (uint32_t index = 0; of->name(index) != NULL; index++) {
        for (uint32_t d = 0; d < heed_device_count(runtime); d++) {
            heed_device *device = heed_device_get(runtime, d);
            heed_device_props props = { .size = sizeof props };

            if (heed_device_info(device, &props) < 0)
                continue;
            for (int t = 0; t < N_DTYPES; t++)
                row_print(of, index, device, props.name, &dtypes[t], &reasons);
        }
    }
    for (int i = 0; i < reasons.count; i++)
        printf("%s[%d] %s\n", i ? "" : "\n", i + 1, reasons.text[i]);
}

/* ---- JSON ------------------------------------------------------------------- */

static void cell_json(const struct subject *of, uint32_t index, heed_device *device,
                      const char *name, int dtype, int promise)
{
    heed_report report = { .size = sizeof report };
    const heed_status status =
        of->ask(index, device, dtypes[dtype].value, numerics[promise], &report);

    assert(dtype < N_DTYPES);
    printf("{\"%s\":\"%s\",\"device\":", of->kind, of->name(index));
    text_json_string(stdout, name);
    printf(",\"dtype\":\"%s\",\"numerics\":\"%s\",\"supported\":%s,\"status\":\"%s\",\"reason\":",
           dtypes[dtype].name, text_numerics(numerics[promise]), status >= 0 ? "true" : "false",
           heed_status_name(status));
    text_json_string(stdout, status < 0 ? report.message : "");
    putchar('}');
}

static void json_print(const struct subject *of, const heed_runtime *runtime)
{
    const char *comma = "";

    printf("{\"support\":[");
    for (uint32_t index = 0; of->name(index) != NULL; index++) {
        for (uint32_t d = 0; d < heed_device_count(runtime); d++) {
            heed_device *device = heed_device_get(runtime, d);
            heed_device_props props = { .size = sizeof props };

            if (heed_device_info(device, &props) < 0)
                continue;
            for (int i = 0; i < N_DTYPES * N_NUMERICS; i++) {
                fputs(comma, stdout);
                cell_json(of, index, device, props.name, i / N_NUMERICS, i % N_NUMERICS);
                comma = ",";
            }
        }
    }
    printf("]}\n");
}

void support_print(const heed_runtime *runtime, bool mechanisms, bool json)
{
    const struct subject *const of = &subjects[mechanisms];

    if (json)
        json_print(of, runtime);
    else
        table_print(of, runtime);
}
