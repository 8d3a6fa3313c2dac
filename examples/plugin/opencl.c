/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel of OpenCL as a plug-in, for arrays in memory of a device: dense attention in f32, causal
 * if wanted, with any strides, batch axes and grouped heads, a work-item for each row. It refuses
 * everything else by name. To put an own kernel under heed-conform, keep this file and replace
 * `source` and the arguments that run gives it.
 */
#include <heed/plugin.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- the kernel ------------------------------------------------------------------- */

/* place has, of each head of each item, how many elements q, k, v, o and lse of it lie behind
 * [0,...,0]; step has the strides of rows and channels, in the same order. A key with a score of
 * -Inf is removed: its weight is marked by -1, and its v is not read. NaN has one form in outputs,
 * and zero no sign. */
static const char source[] =
    "enum { Q, K, V, O, LSE, N };\n"
    "#define ROW(x) step[x]\n"
    "#define CHANNEL(x) step[N + (x)]\n"
    "float clean(float x) { return isnan(x) ? as_float(0x7fc00000) : x + 0.0f; }\n"
    "kernel void attend(global const float *q, global const float *k, global const float *v,\n"
    "                   global float *o, global float *lse, global float *weights,\n"
    "                   global const long *place, global const long *step, long pairs,\n"
    "                   long n_q, long n_k, long d, long d_v, long shift, float scale,\n"
    "                   long q0, long k0, long v0, long o0, long lse0, long w0, int has_lse)\n"
    "{\n"
    "    const long item = get_global_id(0), pair = item / max(n_q, 1L), row = item - pair * n_q;\n"
    "    const long keys = min(row + shift + 1, n_k);\n"
    "    float most = -INFINITY, sum = 0;\n"
    "    if (n_q == 0 || pair >= pairs)\n"
    "        return;\n"
    "    place += pair * N;\n"
    "    q += q0 + place[Q] + row * ROW(Q);\n"
    "    k += k0 + place[K];\n"
    "    v += v0 + place[V];\n"
    "    o += o0 + place[O] + row * ROW(O);\n"
    "    weights += w0 + item * n_k;\n"
    "    for (long j = 0; j < keys; j++) {\n"
    "        float score = 0;\n"
    "        for (long c = 0; c < d; c++)\n"
    "            score = fma(q[c * CHANNEL(Q)], k[j * ROW(K) + c * CHANNEL(K)], score);\n"
    "        score *= scale;\n"
    "        weights[j] = score;\n"
    "        most = isnan(score) || score > most ? score : most;\n" /* NaN stays */
    "    }\n"
    "    if (most == INFINITY)\n"
    "        most = NAN;\n"
    "    for (long j = 0; j < keys && most > -INFINITY; j++) {\n"
    "        weights[j] = weights[j] > -INFINITY ? exp(weights[j] - most) : -1;\n"
    "        sum += max(weights[j], 0.0f);\n"
    "    }\n"
    "    for (long c = 0; c < d_v; c++) {\n"
    "        float total = 0;\n"
    "        for (long j = 0; j < keys && most > -INFINITY; j++) {\n"
    "            if (weights[j] >= 0)\n"
    "                total = fma(weights[j], v[j * ROW(V) + c * CHANNEL(V)], total);\n"
    "        }\n"
    "        o[c * CHANNEL(O)] = isnan(most) ? clean(most) : sum > 0 ? clean(total / sum) : 0;\n"
    "    }\n"
    "    if (has_lse)\n"
    "        lse[lse0 + place[LSE] + row * ROW(LSE)] =\n"
    "            clean(most + (sum > 0 ? log(sum) : 0));\n"
    "}\n";

/* ---- what it takes ------------------------------------------------------------------ */

enum { Q, K, V, O, LSE, N };

static const heed_host_device *device;
static const heed_logger *logger;

/* What run needs of a descriptor, which is gone by then. */
struct state {
    cl_program program;
    cl_kernel kernel;
    cl_mem place, step;
    cl_long pairs, n_q, n_k, d, d_v;
    cl_long shift; /* row i sees the keys up to i + shift */
    cl_float scale;
    cl_int has_lse;
};

static heed_status refuse(heed_report *report, const char *field, const char *message)
{
    report->status = HEED_E_UNSUPPORTED;
    strncpy(report->field, field, sizeof report->field - 1);
    strncpy(report->message, message, sizeof report->message - 1);
    return report->status;
}

static heed_status query(void *self, const char *op, const void *descriptor, heed_report *report)
{
    const heed_attn_desc *desc = descriptor;
    const heed_source *s = desc->sources;

    (void)self;
    if (strcmp(op, "attn") != 0)
        return refuse(report, "op", "attention only");
    if (desc->n_sources != 1)
        return refuse(report, "sources", "one source only");
    if (desc->flags & HEED_PLAN_OWN_WORKSPACE)
        return refuse(report, "flags", "no workspace of its own");
    if (desc->state_in.ndim || desc->state_out.ndim)
        return refuse(report, "state_in", "no states");
    if (desc->q.dtype != HEED_F32 || desc->o.dtype != HEED_F32 || s->k.dtype != HEED_F32 ||
        s->v.dtype != HEED_F32)
        return refuse(report, "q.dtype", "f32 only");
    if (desc->q.ndim < 3 || desc->o.ndim < 3 || s->k.ndim < 3 || s->v.ndim < 3)
        return refuse(report, "q.ndim", "a head axis is needed");
    if (desc->n_slots || desc->q_layout || s->layout)
        return refuse(report, "slots", "dense arrays without lengths and masks only");
    if (s->n_terms || s->n_biases)
        return refuse(report, "sources[0].terms", "no terms and no biases");
    if (desc->sinks.ndim || desc->softcap > 0)
        return refuse(report, "softcap", "neither softcap nor sinks");
    if (s->flags & HEED_SOURCE_END || s->pos_step > 1 || s->pos_span > 1 || desc->q_pos_step > 1)
        return refuse(report, "sources[0].pos_step", "one position a key, one a row");
    return HEED_OK;
}

/* ---- a state ------------------------------------------------------------------------- */

static cl_mem numbers_make(const cl_long *numbers, int64_t n)
{
    return clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                          (size_t)n * sizeof *numbers, (void *)(uintptr_t)numbers, NULL);
}

/* Element [item][head][0] of an array behind its [0,...,0]; `rest`: how many axes are behind. */
static cl_long place_of(const heed_tensor *t, uint32_t rest, const int64_t batch[3], int64_t item,
                        int64_t head)
{
    cl_long place = head * t->stride[t->ndim - rest - 1];

    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t axis = t->ndim - rest - 2 - i;

        if (t->ndim > rest + 1 + i && t->shape[axis] > 1)
            place += item % batch[i] * t->stride[axis];
        item /= batch[i];
    }
    return place;
}

static cl_mem places_make(const struct state *s, const heed_attn_desc *desc,
                          const heed_tensor *const t[N], int64_t heads)
{
    const int64_t group = heads ? heads / t[K]->shape[t[K]->ndim - 3] : 1;
    cl_long *const place = calloc((size_t)s->pairs * N + 1, sizeof *place);
    int64_t batch[3];
    cl_mem memory;

    if (!place)
        return NULL;
    for (uint32_t i = 0; i < 3; i++)
        batch[i] = desc->o.ndim > 3 + i ? desc->o.shape[desc->o.ndim - 4 - i] : 1;
    for (int64_t i = 0; i < s->pairs; i++) {
        const int64_t item = i / heads, head = i % heads;

        for (int x = 0; x < N; x++) {
            if (t[x]->ndim)
                place[i * N + x] = place_of(t[x], x == LSE ? 1 : 2, batch, item,
                                            x == K || x == V ? head / group : head);
        }
    }
    memory = numbers_make(place, s->pairs * N + 1);
    free(place);
    return memory;
}

static cl_mem steps_make(const heed_tensor *const t[N])
{
    cl_long step[2 * N] = { 0 };

    for (int x = 0; x < N; x++) {
        const uint32_t row = t[x]->ndim - (x == LSE ? 1 : 2);

        if (t[x]->ndim)
            step[x] = t[x]->stride[row];
        if (t[x]->ndim && x != LSE)
            step[N + x] = t[x]->stride[row + 1];
    }
    return numbers_make(step, 2 * N);
}

/* What heed-conform prints below a failed case. */
static void log_print(cl_program program)
{
    static char text[2048];

    clGetProgramBuildInfo(program, device->device, CL_PROGRAM_BUILD_LOG, sizeof text - 1, text,
                          NULL);
    logger->line(logger->context, 0, text);
}

static heed_status kernel_make(struct state *s)
{
    const char *text = source;
    const cl_device_id id = device->device;

    s->program = clCreateProgramWithSource(device->context, 1, &text, NULL, NULL);
    if (!s->program)
        return HEED_E_NOMEM;
    if (clBuildProgram(s->program, 1, &id, "-cl-std=CL1.2", NULL, NULL)) {
        log_print(s->program);
        return HEED_E_KERNEL_BUILD;
    }
    s->kernel = clCreateKernel(s->program, "attend", NULL);
    return s->kernel ? HEED_OK : HEED_E_NOMEM;
}

static void release(void *state)
{
    struct state *s = state;

    if (s->kernel)
        clReleaseKernel(s->kernel);
    if (s->program)
        clReleaseProgram(s->program);
    if (s->place)
        clReleaseMemObject(s->place);
    if (s->step)
        clReleaseMemObject(s->step);
    free(s);
}

/* Row i sees the keys up to i + this. */
static int64_t shift_of(const struct state *s, const heed_attn_desc *desc)
{
    if (!(desc->sources->flags & HEED_SOURCE_CAUSAL))
        return s->n_k;
    if (desc->flags & HEED_ATTN_ALIGN_END)
        return s->n_k - s->n_q + desc->q_pos0;
    return desc->q_pos0 - desc->sources->pos0;
}

static void sizes_set(struct state *s, const heed_attn_desc *desc, const heed_tensor *const t[N])
{
    s->pairs = t[O]->shape[t[O]->ndim - 3];
    for (uint32_t i = 0; i + 3 < t[O]->ndim; i++)
        s->pairs *= t[O]->shape[i];
    s->n_q = t[Q]->shape[t[Q]->ndim - 2];
    s->d = t[Q]->shape[t[Q]->ndim - 1];
    s->n_k = t[K]->shape[t[K]->ndim - 2];
    s->d_v = t[V]->shape[t[V]->ndim - 1];
    s->shift = shift_of(s, desc);
    s->scale = desc->scale != 0 || desc->flags & HEED_ATTN_SCALE_GIVEN ? (float)desc->scale
               : s->d > 0                                              ? 1 / sqrtf((float)s->d)
                                                                       : 0;
    s->has_lse = t[LSE]->ndim > 0;
}

static heed_status prepare(void *self, const char *op, const void *descriptor, void **out,
                           heed_plan_props *props)
{
    const heed_attn_desc *desc = descriptor;
    const heed_tensor *const t[N] = { &desc->q, &desc->sources->k, &desc->sources->v, &desc->o,
                                      &desc->lse };
    struct state *s = calloc(1, sizeof *s);
    heed_status status;

    (void)self;
    (void)op;
    if (!s)
        return HEED_E_NOMEM;
    sizes_set(s, desc, t);
    status = kernel_make(s);
    s->place = places_make(s, desc, t, t[Q]->shape[t[Q]->ndim - 3]);
    s->step = steps_make(t);
    if (status == HEED_OK && (!s->place || !s->step))
        status = HEED_E_NOMEM;
    if (status != HEED_OK) {
        release(s);
        return status;
    }
    props->workspace_size = (uint64_t)(s->pairs * s->n_q * s->n_k) * sizeof(float); /* weights */
    props->workspace_align = sizeof(float);
    *out = s;
    return HEED_OK;
}

/* ---- a run --------------------------------------------------------------------------- */

enum { GROUP = 16 };

/* A kernel's argument has no room for an offset in bytes: it is one more argument, in elements. */
static cl_long first(heed_buf buf)
{
    return (cl_long)(buf.offset / sizeof(float));
}

static cl_int arguments_set(const struct state *s, const heed_attn_args *a)
{
    const heed_buf at[] = { a->q, a->kv->k, a->kv->v, a->o, a->lse, a->workspace };
    const cl_long numbers[] = { s->pairs, s->n_q, s->n_k, s->d, s->d_v, s->shift };
    cl_uint n = 0;
    cl_int bad = 0;

    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_mem), &at[i].handle);
    bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_mem), &s->place);
    bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_mem), &s->step);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_long), &numbers[i]);
    bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_float), &s->scale);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const cl_long begin = first(at[i]);

        bad |= clSetKernelArg(s->kernel, n++, sizeof(cl_long), &begin);
    }
    return bad | clSetKernelArg(s->kernel, n, sizeof(cl_int), &s->has_lse);
}

/* Nothing waits here: the host's queue runs the kernel behind what it has, and the host waits. */
static heed_status run(void *state, const heed_buf *at, uint32_t n, const heed_run *how)
{
    const struct state *s = state;
    const heed_attn_args args = heed_attn_args_of(at, n, 1, how);
    const size_t local = GROUP, rows = (size_t)(s->pairs * s->n_q),
                 global = (rows + local - 1) / local * local;

    if (rows == 0)
        return HEED_OK;
    if (arguments_set(s, &args) ||
        clEnqueueNDRangeKernel(device->queue, s->kernel, 1, NULL, &global, &local, 0, NULL, NULL))
        return HEED_E_DEVICE;
    return HEED_OK;
}

heed_status heed_kernel_entry(uint32_t host_major, const heed_host_api *host, heed_kernel_api *out)
{
    const heed_kernel_api api = {
        .size = sizeof api,
        .major = HEED_PLUGIN_MAJOR,
        .minor = HEED_PLUGIN_MINOR,
        .numerics = HEED_NUMERICS_REPEAT,
        .name = "example: dense f32 of OpenCL",
        .build = __DATE__,
        .query = query,
        .prepare = prepare,
        .run = run,
        .release = release,
        .memory = HEED_DEVICE_OPENCL,
    };

    if (host_major != HEED_PLUGIN_MAJOR)
        return HEED_E_NEWER;
    if (out->size < sizeof api ||
        host->size < offsetof(heed_host_api, device) + sizeof host->device)
        return HEED_E_SIZE;
    device = host->device; /* there is one when query is called */
    logger = host->logger;
    *out = api;
    return HEED_OK;
}
