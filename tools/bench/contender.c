/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Through the public interface alone. Contents are uniform with variance 1, those of Q with
 * variance 4, so that the softmax has something to do.
 */
#include "bench/contender.h"

#include "common/text.h"
#include "peak/peak.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The nearest lower 16-bit value; below the normal numbers of binary16 it is zero. */
static uint16_t narrow(uint32_t dtype, float value)
{
    uint32_t bits, exponent;

    memcpy(&bits, &value, sizeof bits);
    if (dtype == HEED_BF16)
        return (uint16_t)(bits >> 16);
    exponent = bits >> 23 & 0xff;
    if (exponent < 113)
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3ff));
}

static void fill(void *to, uint32_t dtype, size_t count, float deviation, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = 0; i < count; i++) {
        const float unit = (float)(next_random(&state) >> 40) * 0x1p-24f - 0.5f;
        const float value = unit * 3.4641016f * deviation;

        if (dtype == HEED_F32)
            ((float *)to)[i] = value;
        else
            ((uint16_t *)to)[i] = narrow(dtype, value);
    }
}

static heed_tensor shape(const struct workload *load, int64_t heads)
{
    return heed_array4(load->dtype, NULL, load->b, heads, load->n, load->d).t;
}

static uint64_t bytes_of(const heed_tensor *t)
{
    const uint64_t size = t->dtype == HEED_F32 ? 4 : 2;

    return (uint64_t)t->shape[0] * (uint64_t)t->stride[0] * size;
}

/* A buffer of that shape; deviation 0: contents are left alone. */
static heed_status make_tensor(struct contender *c, const heed_tensor *t, float deviation,
                               uint64_t seed, heed_buf *out)
{
    const uint64_t bytes = bytes_of(t);
    void *host = NULL;
    heed_status status = c->lib->buf_create(c->device, bytes, out, NULL);

    if (status < 0 || !(deviation > 0))
        return status;
    host = malloc((size_t)bytes);
    if (host == NULL)
        return HEED_E_NOMEM;
    fill(host, t->dtype, (size_t)bytes / (t->dtype == HEED_F32 ? 4 : 2), deviation, seed);
    status = c->lib->buf_write(c->queue, *out, host, bytes, NULL);
    free(host);
    return status;
}

static heed_status make_plan(struct contender *c, const struct workload *load,
                             heed_report *report)
{
    const heed_term window = { .kind = HEED_TERM_WINDOW, .left = load->w, .right = load->w };
    heed_source source = { .k = shape(load, load->hk), .v = shape(load, load->hk) };
    heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START,
        .q = shape(load, load->h), .o = shape(load, load->h),
        .sources = &source, .n_sources = 1, .source_size = sizeof source,
    };
    heed_status status;

    if (load->kind == WORKLOAD_CAUSAL)
        source.flags = HEED_SOURCE_CAUSAL;
    if (load->kind == WORKLOAD_WINDOW) {
        source.terms = &window;
        source.n_terms = 1;
        source.term_size = sizeof window;
    }
    status = c->lib->attn_plan(c->device, &desc, &c->plan, report);
    if (status < 0)
        return status;
    c->plan_props.size = sizeof c->plan_props;
    return c->lib->plan_info(c->plan, &c->plan_props);
}

static heed_status make_arguments(struct contender *c, const struct workload *load)
{
    const heed_tensor queries = shape(load, load->h), keys = shape(load, load->hk);
    heed_status status = make_tensor(c, &queries, 2, 1, &c->args.q);

    if (status >= 0)
        status = make_tensor(c, &keys, 1, 2, &c->kv.k);
    if (status >= 0)
        status = make_tensor(c, &keys, 1, 3, &c->kv.v);
    if (status >= 0)
        status = make_tensor(c, &queries, 0, 0, &c->args.o);
    if (status >= 0 && c->plan_props.workspace_size > 0)
        status = c->lib->buf_create(c->device, c->plan_props.workspace_size, &c->args.workspace,
                                    NULL);
    c->args.size = sizeof c->args;
    c->args.kv = &c->kv;
    c->args.kv_size = sizeof c->kv;
    c->args.workspace_size = c->plan_props.workspace_size;
    return status;
}

heed_status contender_open(struct contender *c, const struct library *lib, heed_device *device,
                           const struct workload *load)
{
    heed_report report = { .size = sizeof report };
    const char *doing = "cannot describe the device";
    heed_status status;

    *c = (struct contender){ .lib = lib, .device = device };
    c->device_props.size = sizeof c->device_props;
    status = c->lib->device_info(device, &c->device_props);
    if (status >= 0) {
        doing = "cannot make a queue";
        status = c->lib->queue_create(device, 0, &c->queue, &report);
    }
    if (status >= 0) {
        doing = load->text;
        status = make_plan(c, load, &report);
    }
    if (status >= 0) {
        doing = "cannot make the tensors";
        memset(report.message, 0, sizeof report.message);
        status = make_arguments(c, load);
    }
    if (status < 0) {
        text_failure("heed-bench", doing, status, &report);
        contender_close(c);
    }
    return status;
}

void contender_close(struct contender *c)
{
    if (c->lib == NULL)
        return;
    c->lib->buf_destroy(c->device, c->args.workspace);
    c->lib->buf_destroy(c->device, c->args.o);
    c->lib->buf_destroy(c->device, c->kv.v);
    c->lib->buf_destroy(c->device, c->kv.k);
    c->lib->buf_destroy(c->device, c->args.q);
    c->lib->plan_drop(c->plan);
    c->lib->queue_destroy(c->queue);
    *c = (struct contender){ 0 };
}

heed_status contender_run(struct contender *c)
{
    heed_report report = { .size = sizeof report };
    heed_status status = c->lib->attn_run(c->plan, c->queue, &c->args, NULL, &report);

    if (status >= 0)
        status = c->lib->queue_wait(c->queue, NULL);
    if (status < 0)
        text_failure("heed-bench", "run", status, &report);
    return status;
}

/* The best level whose name is in `text`, without regard to case and dashes: "AVX-512" too. */
static const char *isa_in(const char *text)
{
    char plain[192];
    size_t length = 0;
    const char *found = NULL;

    for (; *text != '\0' && length + 1 < sizeof plain; text++) {
        if (*text != '-')
            plain[length++] = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    }
    plain[length] = '\0';
    for (size_t i = 0; peak_name(i) != NULL; i++) {
        if (strstr(plain, peak_name(i)) != NULL)
            found = peak_name(i);
    }
    return found;
}

const char *contender_isa(const struct contender *c)
{
    const char *const texts[] = {
        c->device_props.name, c->plan_props.implementation, c->device_props.description,
    };

    if (c->device_props.kind == HEED_DEVICE_REFERENCE)
        return "scalar";
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *isa = isa_in(texts[i]);

        if (isa != NULL)
            return isa;
    }
    return "unknown";
}
