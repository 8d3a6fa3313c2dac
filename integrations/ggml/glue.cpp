// SPDX-FileCopyrightText: The heed authors
// SPDX-License-Identifier: Apache-2.0
//
// heed as a backend of ggml: a device of type ACCEL that has no memory of its own and does one
// operation, GGML_OP_FLASH_ATTN_EXT. What is computed, and how, stands in attend.h; here are ggml's
// tables. HEED_GGML_VERSION and HEED_GGML_COMMIT are those of the tree that this was built for.
#include "attend.h"
#include "runtimes.h"

#include "ggml-backend-impl.h"
#include "ggml-impl.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace {

constexpr bool is(int number, ggml_type type) { return number == static_cast<int>(type); }
static_assert(is(HEED_ATTEND_F32, GGML_TYPE_F32) && is(HEED_ATTEND_F16, GGML_TYPE_F16) &&
              is(HEED_ATTEND_BF16, GGML_TYPE_BF16) && is(HEED_ATTEND_Q8_0, GGML_TYPE_Q8_0) &&
              is(HEED_ATTEND_Q4_0, GGML_TYPE_Q4_0) && is(HEED_ATTEND_Q4_1, GGML_TYPE_Q4_1) &&
              is(HEED_ATTEND_Q5_0, GGML_TYPE_Q5_0) && is(HEED_ATTEND_Q5_1, GGML_TYPE_Q5_1) &&
              is(HEED_ATTEND_IQ4_NL, GGML_TYPE_IQ4_NL) && is(HEED_ATTEND_Q1_0, GGML_TYPE_Q1_0) &&
              is(HEED_ATTEND_Q2_0, GGML_TYPE_Q2_0), "types have their numbers of GGUF");

constexpr uint32_t threads_of_ggml = GGML_DEFAULT_N_THREADS;

struct destroy {
    void operator()(heed_attend *attend) const { heed_attend_destroy(attend); }
};
using context = std::unique_ptr<heed_attend, destroy>;

heed_report new_report()
{
    heed_report report = {};
    report.size = sizeof report;
    return report;
}

// The device of heed: what was asked for at init, or in the environment; NULL: "cpu".
context make_context(const char *params, bool openmp)
{
    const char *name = params && *params ? params : std::getenv("HEED_GGML_DEVICE");
    heed_attend_options options = {};
    heed_report report = new_report();
    heed_attend *attend = nullptr;
    options.device = name && *name ? name : nullptr;
    options.flags = openmp ? HEED_ATTEND_OPENMP : 0;
    if (heed_attend_create(&options, &attend, &report) < 0)
        GGML_LOG_ERROR("heed: %s: %s\n", report.field, report.message);
    return context(attend);
}

// Are ggml's threads those of OpenMP?
bool cpu_has_openmp()
{
    ggml_backend_reg_t cpu = ggml_backend_reg_by_name("CPU");
    auto features = cpu ? (ggml_backend_get_features_t)ggml_backend_reg_get_proc_address(
                              cpu, "ggml_backend_get_features")
                        : nullptr;
    for (auto *f = features ? features(cpu) : nullptr; f && f->name; f++)
        if (std::strcmp(f->name, "OPENMP") == 0 && std::strcmp(f->value, "0") != 0)
            return true;
    return false;
}

// One pool of threads, where ggml's is one that heed can run on; else threads that sleep.
// HEED_GGML_THREADS=openmp or sleep chooses.
bool shares_threads()
{
    const char *chosen = std::getenv("HEED_GGML_THREADS");
    if (chosen && *chosen)
        return std::strcmp(chosen, "openmp") == 0;
    return cpu_has_openmp() && heed_attend_openmp_runtimes() == 1;
}

// ---- an operation as a call

void convert(const ggml_tensor *t, heed_attend_tensor *out)
{
    if (!t)
        return;
    static char nowhere;                // of tensors that are only planned
    out->data = t->data ? t->data : &nowhere;
    out->type = static_cast<uint32_t>(t->type);
    for (int i = 0; i < 4; i++) {
        out->ne[i] = t->ne[i];
        out->nb[i] = static_cast<int64_t>(t->nb[i]);
    }
}

heed_attend_call call_of(const ggml_tensor *op)
{
    heed_attend_call call = {};
    float params[3];
    convert(op->src[0], &call.q);
    convert(op->src[1], &call.k);
    convert(op->src[2], &call.v);
    convert(op->src[3], &call.mask);
    convert(op->src[4], &call.sinks);
    convert(op, &call.o);
    std::swap(call.o.ne[1], call.o.ne[2]);      // ggml writes the heads of a row side by side
    std::swap(call.o.nb[1], call.o.nb[2]);
    std::memcpy(params, op->op_params, sizeof params);
    call.scale = params[0], call.max_bias = params[1], call.softcap = params[2];
    return call;
}

// What computes nothing: everyone does it.
bool is_view(const ggml_tensor *op)
{
    return op->op == GGML_OP_NONE || op->op == GGML_OP_RESHAPE || op->op == GGML_OP_VIEW ||
           op->op == GGML_OP_PERMUTE || op->op == GGML_OP_TRANSPOSE;
}

// ---- a backend: one context of attention

const char *backend_name(ggml_backend_t) { return "HEED"; }

heed_attend *attend_of(ggml_backend_t backend)
{
    return static_cast<heed_attend *>(backend->context);
}

void backend_free(ggml_backend_t backend)
{
    heed_attend_usage u;
    heed_attend_used(attend_of(backend), &u);
    GGML_LOG_DEBUG("heed: %llu runs, %llu plans, %llu conversions, %llu biases, %llu KiB\n",
                   (unsigned long long)u.runs, (unsigned long long)u.plans,
                   (unsigned long long)u.converted, (unsigned long long)u.biased,
                   (unsigned long long)(u.bytes / 1024));
    heed_attend_destroy(attend_of(backend));
    delete backend;
}

ggml_status backend_compute(ggml_backend_t backend, ggml_cgraph *graph)
{
    for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
        const ggml_tensor *op = ggml_graph_node(graph, i);
        if (is_view(op) || ggml_is_empty(op))
            continue;
        if (op->op != GGML_OP_FLASH_ATTN_EXT)
            return GGML_STATUS_FAILED;
        const heed_attend_call call = call_of(op);
        heed_report report = new_report();
        const heed_status status = heed_attend_run(attend_of(backend), &call, &report);
        if (status < 0) {
            GGML_LOG_ERROR("heed: %s: %s: %s\n", heed_status_name(status), report.field,
                           report.message);
            return status == HEED_E_NOMEM ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
        }
    }
    return GGML_STATUS_SUCCESS;
}

void backend_set_n_threads(ggml_backend_t backend, int n)
{
    heed_attend_threads(attend_of(backend), n > 0 ? static_cast<uint32_t>(n) : 1);
}

ggml_guid_t backend_guid()
{
    static ggml_guid guid = { 0x68, 0x65, 0x65, 0x64, 0x2d, 0x67, 0x67, 0x6d,
                              0x6c, 0x2d, 0x61, 0x74, 0x74, 0x65, 0x6e, 0x64 };
    return &guid;
}

// ---- the device: memory and buffers are the CPU's

const char *device_name(ggml_backend_dev_t) { return "HEED"; }
const char *device_description(ggml_backend_dev_t) { return "attention of heed on the CPU"; }
void device_memory(ggml_backend_dev_t, size_t *free, size_t *total) { *free = *total = 0; }
enum ggml_backend_dev_type device_type(ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; }

void device_props(ggml_backend_dev_t device, ggml_backend_dev_props *props)
{
    *props = {};
    props->name = device_name(device);
    props->description = device_description(device);
    props->type = device_type(device);
    props->caps.buffer_from_host_ptr = true;
}

ggml_backend_t device_init(ggml_backend_dev_t device, const char *params)
{
    context attend = make_context(params, shares_threads());
    if (!attend)
        return nullptr;
    heed_attend_threads(attend.get(), threads_of_ggml);
    ggml_backend_i table = {};
    table.get_name = backend_name;
    table.free = backend_free;
    table.graph_compute = backend_compute;
    return new ggml_backend{ backend_guid(), table, device, attend.release() };
}

ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t)
{
    return ggml_backend_cpu_buffer_type();
}

ggml_backend_buffer_t device_buffer(ggml_backend_dev_t, void *at, size_t size, size_t)
{
    return ggml_backend_cpu_buffer_from_ptr(at, size);
}

bool device_supports_op(ggml_backend_dev_t device, const ggml_tensor *op)
{
    if (op->op != GGML_OP_FLASH_ATTN_EXT)
        return is_view(op);
    const heed_attend_call call = call_of(op);
    return heed_attend_check(static_cast<heed_attend *>(device->context), &call, nullptr) >= 0;
}

bool device_supports_buft(ggml_backend_dev_t, ggml_backend_buffer_type_t type)
{
    return ggml_backend_buft_is_host(type);
}

// ---- the registration

const char *reg_name(ggml_backend_reg_t) { return "HEED"; }
size_t reg_count(ggml_backend_reg_t) { return 1; }

ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t)
{
    static context checks = make_context(nullptr, false);       // asked by any number of threads
    static ggml_backend_device device = [reg] {
        ggml_backend_device_i table = {};
        table.get_name = device_name;
        table.get_description = device_description;
        table.get_memory = device_memory;
        table.get_type = device_type;
        table.get_props = device_props;
        table.init_backend = device_init;
        table.get_buffer_type = device_buffer_type;
        table.buffer_from_host_ptr = device_buffer;
        table.supports_op = device_supports_op;
        table.supports_buft = device_supports_buft;
        return ggml_backend_device{ table, reg, checks.get() };
    }();
    return &device;
}

void *reg_proc_address(ggml_backend_reg_t, const char *name)
{
    if (std::strcmp(name, "ggml_backend_set_n_threads") == 0)
        return reinterpret_cast<void *>(backend_set_n_threads);
    return nullptr;
}

ggml_backend_reg_t heed_reg()
{
    static ggml_backend_reg reg = {
        GGML_BACKEND_API_VERSION, { reg_name, reg_count, reg_device, reg_proc_address }, nullptr
    };
    if (std::strcmp(ggml_version(), HEED_GGML_VERSION) != 0 ||
        std::strcmp(ggml_commit(), HEED_GGML_COMMIT) != 0) {
        GGML_LOG_ERROR("heed: built for ggml %s (%s), not for this one, %s (%s): build it anew\n",
                       HEED_GGML_VERSION, HEED_GGML_COMMIT, ggml_version(), ggml_commit());
        return nullptr;
    }
    if (!static_cast<heed_attend *>(reg_device(&reg, 0)->context))
        return nullptr;
    GGML_LOG_INFO("heed: attention by heed where flash attention is on: -fa on (auto turns it off)\n");
    return &reg;
}

} // namespace

GGML_BACKEND_DL_IMPL(heed_reg)
