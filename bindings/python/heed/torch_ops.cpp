/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of torch.ops.heed.attention in C++, by the stable ABI of PyTorch: compiled once, it
 * loads into every PyTorch from 2.10 on. `python3 -m heed.torch` compiles it. It does what the
 * kernel in _torch_ops.py does, which has the schema, and takes its place when heed.torch is
 * imported.
 *
 * A call makes a key of all that a plan depends on, the numbers of the call and how its tensors
 * lie, and looks for a plan with it. Each thread has plans, a queue and a workspace of its own.
 */
#include <heed/attn.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

using torch::stable::Tensor;
using Numbers = std::vector<int64_t>;
using Maybe = std::optional<Tensor>;

constexpr size_t MOST_PLANS = 128;
constexpr size_t TERM_NUMBERS = 8, BIAS_NUMBERS = 7;

/* ---- failures ------------------------------------------------------------------------------ */

/* What the last call of a thread that failed was told. */
thread_local heed_report last_failure;

heed_report fresh_report()
{
    heed_report report = {};

    report.size = sizeof report;
    return report;
}

void check(heed_status status, const heed_report &report)
{
    if (status >= 0)
        return;
    last_failure = report;
    last_failure.status = status;
    throw std::runtime_error(std::string(heed_status_name(status)) + ": " + report.field + ": " +
                             report.message);
}

[[noreturn]] void refuse(heed_status status, const char *field, const std::string &message)
{
    heed_report report = fresh_report();

    std::strncpy(report.field, field, sizeof report.field - 1);
    std::strncpy(report.message, message.c_str(), sizeof report.message - 1);
    check(status, report);
    throw std::runtime_error(message);
}

void torch_check(AOTITorchError error)
{
    if (error)
        throw std::runtime_error("PyTorch could not make memory for heed");
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* heed's element type of one of PyTorch's; 0: none. */
uint32_t type_of(int32_t dtype)
{
    static const std::map<int32_t, uint32_t> types = {
        {aoti_torch_dtype_float32(), HEED_F32},
        {aoti_torch_dtype_float16(), HEED_F16},
        {aoti_torch_dtype_bfloat16(), HEED_BF16},
        {aoti_torch_dtype_uint8(), HEED_U8},
        {aoti_torch_dtype_bool(), HEED_U8},
        {aoti_torch_dtype_int32(), HEED_I32},
        {aoti_torch_dtype_int64(), HEED_I64},
        {aoti_torch_dtype_int8(), HEED_I8},
        {aoti_torch_dtype_float8_e4m3fn(), HEED_F8E4M3},
        {aoti_torch_dtype_float8_e5m2(), HEED_F8E5M2},
    };
    const auto found = types.find(dtype);

    return found == types.end() ? 0 : found->second;
}

int32_t dtype_of(const Tensor &tensor)
{
    int32_t dtype;

    torch_check(aoti_torch_get_dtype(tensor.get(), &dtype));
    return dtype;
}

heed_tensor lie_of(const Tensor &tensor, const char *name)
{
    const auto shape = tensor.sizes(), strides = tensor.strides();
    heed_tensor made = {};

    if (shape.size() > 6)
        refuse(HEED_E_VALUE, name, "a tensor has " + std::to_string(shape.size()) + " axes");
    made.dtype = type_of(dtype_of(tensor));
    made.ndim = static_cast<uint32_t>(shape.size());
    if (!made.dtype)
        refuse(HEED_E_DTYPE, name, "heed has no elements of this type");
    std::copy(shape.begin(), shape.end(), made.shape);
    std::copy(strides.begin(), strides.end(), made.stride);
    return made;
}

Tensor made_tensor(const Numbers &shape, const Numbers &strides, int32_t dtype)
{
    AtenTensorHandle made;

    torch_check(aoti_torch_empty_strided(static_cast<int64_t>(shape.size()), shape.data(),
                                         strides.data(), dtype, aoti_torch_device_type_cpu(), 0,
                                         &made));
    return Tensor(made);
}

Numbers dense_strides(const Numbers &shape)
{
    Numbers strides(shape.size());
    int64_t step = 1;

    for (size_t i = shape.size(); i-- > 0; step *= shape[i])
        strides[i] = step;
    return strides;
}

/* ---- a call ------------------------------------------------------------------------------------ */

/* The arguments of the operator, and the tensors of slots that `visible` brings. */
struct Call {
    Tensor q, k, v;
    Numbers terms, biases;
    std::vector<Tensor> slots;
    bool causal, wants_lse;
    int64_t align, layout, run, rows;
    Maybe slot, len, mask, k_scale, v_scale, sinks, q_pos, q_len, q_begins;
    std::optional<double> scale;
    double softcap;
};

/* The batch axes of o: those of q, with those of values of items. */
Numbers batch_of(const Call &call)
{
    const auto q = call.q.sizes(), v = call.v.sizes();
    const bool of_items = call.layout != HEED_LAYOUT_PAGED && call.layout != HEED_LAYOUT_RAGGED;
    const size_t own = q.size() - 3, other = of_items ? v.size() - 3 : 0;
    Numbers batch(std::max(own, other), 1);

    std::copy(q.begin(), q.begin() + own, batch.end() - own);
    for (size_t i = 0; i < other; i++) {
        int64_t &extent = batch[batch.size() - other + i];

        extent = extent == 1 ? v[i] : extent;
    }
    return batch;
}

/* o [batch...][H][n_q][d_v] over memory [batch...][n_q][H][d_v]. */
Tensor output_of(const Call &call, const Numbers &batch)
{
    const auto q = call.q.sizes();
    Numbers shape = batch;

    shape.insert(shape.end(), {q[q.size() - 2], q[q.size() - 3], call.v.sizes().back()});
    Numbers strides = dense_strides(shape);
    std::swap(shape[batch.size()], shape[batch.size() + 1]);
    std::swap(strides[batch.size()], strides[batch.size() + 1]);
    return made_tensor(shape, strides, dtype_of(call.q));
}

Tensor lse_of(const Call &call, const Numbers &batch)
{
    const auto q = call.q.sizes();
    Numbers shape = batch;

    shape.insert(shape.end(), {q[q.size() - 3], q[q.size() - 2]});
    return made_tensor(shape, dense_strides(shape), aoti_torch_dtype_float32());
}

/* ---- booleans of every pair ------------------------------------------------------------------ */

/* Booleans as they lie: [items][rows][keys], of one head. */
struct Seen {
    const uint8_t *at;
    int64_t key_step;

    /* The first key of a row, up to `n`, that is seen (or, without `want`, is not). */
    int64_t find(const uint8_t *row, int64_t from, int64_t n, bool want) const
    {
        if (key_step == 1) {
            const void *found = std::memchr(row + from, want, static_cast<size_t>(n - from));

            return found ? static_cast<const uint8_t *>(found) - row : n;
        }
        while (from < n && static_cast<bool>(row[from * key_step]) != want)
            from++;
        return from;
    }
};

/* Writes [begin, end) of a row; false where the keys that it sees are no range. */
bool range_of(const Seen &seen, const uint8_t *row, int64_t n, int32_t *range)
{
    const int64_t begin = seen.find(row, 0, n, true);
    const int64_t end = begin < n ? seen.find(row, begin, n, false) : n;

    range[0] = static_cast<int32_t>(begin < n ? begin : 0);
    range[1] = static_cast<int32_t>(begin < n ? end : 0);
    return seen.find(row, end, n, true) == n;
}

/* Calls body(row, i) for the rows of a tensor [...][rows][keys], in order. */
template <typename Body> bool every_row(const Tensor &tensor, Body body)
{
    const auto shape = tensor.sizes(), strides = tensor.strides();
    const uint8_t *at = static_cast<const uint8_t *>(tensor.data_ptr());
    const size_t axes = shape.size() - 1;
    Numbers place(axes, 0);
    int64_t total = 1;

    for (size_t i = 0; i < axes; i++)
        total *= shape[i];
    for (int64_t i = 0; i < total; i++) {
        if (!body(at, i))
            return false;
        for (size_t axis = axes; axis-- > 0;) {
            at += strides[axis];
            if (++place[axis] < shape[axis])
                break;
            at -= strides[axis] * shape[axis];
            place[axis] = 0;
        }
    }
    return true;
}

/* Ranges [batch...][rows][2] of booleans [batch...][1][rows][keys], or nothing. */
Maybe ranges_of(const Tensor &visible, int64_t n_q)
{
    const auto shape = visible.sizes();
    const size_t axes = shape.size();

    if (axes < 3 || shape[axes - 3] != 1 || shape[axes - 2] != n_q)
        return std::nullopt;
    Numbers made(shape.begin(), shape.end() - 3);
    made.insert(made.end(), {n_q, 2});
    Tensor ranges = made_tensor(made, dense_strides(made), aoti_torch_dtype_int32());
    int32_t *out = static_cast<int32_t *>(ranges.data_ptr());
    const Seen seen = {nullptr, visible.strides()[axes - 1]};
    const int64_t n = shape[axes - 1];

    if (!every_row(visible, [&](const uint8_t *row, int64_t i) {
            return range_of(seen, row, n, out + 2 * i);
        }))
        return std::nullopt;
    return ranges;
}

/* What is added for booleans, bf16: 0, or -Inf, which removes a key. */
Tensor bias_of(const Tensor &visible)
{
    const Numbers shape(visible.sizes().begin(), visible.sizes().end());
    Tensor bias = made_tensor(shape, dense_strides(shape), aoti_torch_dtype_bfloat16());
    uint16_t *out = static_cast<uint16_t *>(bias.data_ptr());
    const int64_t n = shape.back(), step = visible.strides().back();

    every_row(visible, [&](const uint8_t *row, int64_t) {
        for (int64_t j = 0; j < n; j++)
            *out++ = row[j * step] ? 0 : 0xff80;
        return true;
    });
    return bias;
}

/* Adds to a call what booleans of every pair say: ranges where rows have such, else a bias. */
void show(Call &call, const Tensor &visible)
{
    if (dtype_of(visible) != aoti_torch_dtype_bool())
        refuse(HEED_E_DTYPE, "visible", "booleans are wanted");
    if (visible.dim() < 2)
        refuse(HEED_E_VALUE, "visible", "rows and keys are wanted");
    const int64_t number = static_cast<int64_t>(call.slots.size()) + 1;
    Maybe ranges;

    if (call.terms.empty() && call.layout != HEED_LAYOUT_LISTED &&
        visible.sizes().back() == call.k.sizes()[call.k.sizes().size() - 2])
        ranges = ranges_of(visible, call.q.sizes()[call.q.sizes().size() - 2]);
    if (ranges)
        call.terms = {HEED_TERM_SEGMENT, 0, 0, 0, 0, 0, 0, number};
    else
        call.biases.insert(call.biases.end(), {HEED_BIAS_DENSE, 0, number, 0, 0, 0, 0});
    call.slots.push_back(ranges ? *ranges : bias_of(visible));
}

/* ---- descriptors ------------------------------------------------------------------------------ */

/* The descriptor of a call. Its slots stand in the order of `named`, then those of the call. */
struct Descriptor {
    std::vector<heed_term> terms;
    std::vector<heed_bias> biases;
    std::vector<heed_slot> slots;
    heed_source source = {};
    heed_attn_desc desc = {};
};

/* The arrays that are slots, in order: which of them a call has is part of its key. */
std::vector<const Maybe *> named(const Call &call)
{
    return {&call.slot,    &call.len,   &call.mask,  &call.k_scale,
            &call.v_scale, &call.q_pos, &call.q_len, &call.q_begins};
}

void add_terms(Descriptor &made, const Call &call, uint32_t first)
{
    for (size_t i = 0; i + TERM_NUMBERS <= call.terms.size(); i += TERM_NUMBERS) {
        const int64_t *t = &call.terms[i];
        heed_term term = {};

        term.kind = static_cast<uint32_t>(t[0]);
        term.left = t[1];
        term.right = t[2];
        term.step = t[3];
        term.block = static_cast<int32_t>(t[4]);
        term.phase = static_cast<int32_t>(t[5]);
        term.flags = static_cast<uint32_t>(t[6]);
        term.slot = t[7] ? static_cast<uint32_t>(t[7]) + first : 0;
        made.terms.push_back(term);
    }
}

void add_biases(Descriptor &made, const Call &call, uint32_t first)
{
    const auto slot = [first](int64_t number) {
        return number ? static_cast<uint32_t>(number) + first : 0;
    };

    for (size_t i = 0; i + BIAS_NUMBERS <= call.biases.size(); i += BIAS_NUMBERS) {
        const int64_t *b = &call.biases[i];
        heed_bias bias = {};

        bias.kind = static_cast<uint32_t>(b[0]);
        bias.zero = b[1];
        bias.t = slot(b[2]);
        bias.u = slot(b[3]);
        bias.map = slot(b[4]);
        bias.q_coord = slot(b[5]);
        bias.k_coord = slot(b[6]);
        made.biases.push_back(bias);
    }
}

/* The slots of a descriptor; the number of each named one, 0 for an absent one. */
std::vector<uint32_t> add_slots(Descriptor &made, const Call &call)
{
    std::vector<uint32_t> numbers;

    for (const Maybe *tensor : named(call)) {
        if (*tensor)
            made.slots.push_back({lie_of(**tensor, "slots"), nullptr});
        numbers.push_back(*tensor ? static_cast<uint32_t>(made.slots.size()) : 0);
    }
    const uint32_t first = static_cast<uint32_t>(made.slots.size());

    for (const Tensor &tensor : call.slots)
        made.slots.push_back({lie_of(tensor, "slots"), nullptr});
    add_terms(made, call, first);
    add_biases(made, call, first);
    return numbers;
}

void add_source(Descriptor &made, const Call &call, const std::vector<uint32_t> &numbers)
{
    heed_source &source = made.source;

    source.k = lie_of(call.k, "k");
    source.v = lie_of(call.v, "v");
    source.layout = static_cast<uint32_t>(call.layout);
    source.run = static_cast<int32_t>(call.run);
    source.rows = static_cast<int32_t>(call.rows);
    source.flags = call.causal ? HEED_SOURCE_CAUSAL : 0;
    source.slot = numbers[0];
    source.len_slot = numbers[1];
    source.mask_slot = numbers[2];
    source.k_scale_slot = numbers[3];
    source.v_scale_slot = numbers[4];
    source.terms = made.terms.data();
    source.n_terms = static_cast<uint32_t>(made.terms.size());
    source.term_size = sizeof(heed_term);
    source.biases = made.biases.data();
    source.n_biases = static_cast<uint32_t>(made.biases.size());
    source.bias_size = sizeof(heed_bias);
}

void describe(Descriptor &made, const Call &call, const Tensor &o, const Maybe &lse)
{
    const std::vector<uint32_t> numbers = add_slots(made, call);
    heed_attn_desc &desc = made.desc;

    add_source(made, call, numbers);
    desc.size = sizeof desc;
    desc.flags =
        static_cast<uint32_t>(call.align) | (call.scale ? uint32_t{HEED_ATTN_SCALE_GIVEN} : 0);
    desc.q = lie_of(call.q, "q");
    desc.o = lie_of(o, "o");
    if (lse)
        desc.lse = lie_of(*lse, "lse");
    if (call.sinks)
        desc.sinks = lie_of(*call.sinks, "sinks");
    desc.q_pos_slot = numbers[5];
    desc.q_len_slot = numbers[6];
    desc.q_slot = numbers[7];
    desc.q_layout = call.q_begins ? HEED_LAYOUT_RAGGED : HEED_LAYOUT_DENSE;
    desc.sources = &made.source;
    desc.n_sources = 1;
    desc.source_size = sizeof(heed_source);
    desc.slots = made.slots.data();
    desc.n_slots = static_cast<uint32_t>(made.slots.size());
    desc.slot_size = sizeof(heed_slot);
    desc.scale = call.scale.value_or(0.0);
    desc.softcap = call.softcap;
}

/* ---- plans ------------------------------------------------------------------------------------- */

void add_numbers(std::string &key, const int64_t *numbers, size_t count)
{
    key.append(reinterpret_cast<const char *>(numbers), count * sizeof *numbers);
}

void add_lie(std::string &key, const Tensor &tensor)
{
    const auto shape = tensor.sizes(), strides = tensor.strides();
    const int64_t head[2] = {dtype_of(tensor), static_cast<int64_t>(shape.size())};

    add_numbers(key, head, 2);
    add_numbers(key, shape.data(), shape.size());
    add_numbers(key, strides.data(), strides.size());
}

/* All that a plan depends on. */
void write_key(std::string &key, const Call &call)
{
    int64_t scale[2] = {0, 0};
    const double softcap = call.softcap;

    if (call.scale)
        std::memcpy(&scale[0], &*call.scale, sizeof(double));
    std::memcpy(&scale[1], &softcap, sizeof softcap);
    const int64_t numbers[] = {call.causal,
                               call.wants_lse,
                               call.align,
                               call.layout,
                               call.run,
                               call.rows,
                               call.scale.has_value(),
                               scale[0],
                               scale[1],
                               static_cast<int64_t>(call.terms.size()),
                               static_cast<int64_t>(call.biases.size()),
                               static_cast<int64_t>(call.slots.size())};

    key.clear();
    add_numbers(key, numbers, sizeof numbers / sizeof *numbers);
    add_numbers(key, call.terms.data(), call.terms.size());
    add_numbers(key, call.biases.data(), call.biases.size());
    for (const Tensor *tensor : {&call.q, &call.k, &call.v})
        add_lie(key, *tensor);
    for (const Maybe *tensor : named(call)) {
        key.push_back(tensor->has_value());
        if (*tensor)
            add_lie(key, **tensor);
    }
    key.push_back(call.sinks.has_value());
    if (call.sinks)
        add_lie(key, *call.sinks);
    for (const Tensor &tensor : call.slots)
        add_lie(key, tensor);
}

struct Plan {
    std::string key;
    heed_plan *plan = nullptr;
    heed_plan_props props = {};

    Plan() = default;
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    ~Plan()
    {
        heed_plan_drop(plan);
    }
};

/* The host device of a runtime so wide. Runtimes live as long as the process: threads that end
 * late still have queues of them. */
heed_device *device_of(uint32_t width)
{
    static std::mutex lock;
    static std::map<uint32_t, heed_device *> devices;
    const std::lock_guard<std::mutex> held(lock);
    heed_device *&device = devices[width];
    heed_report report = fresh_report();

    if (!device) {
        heed_executor executor = {};
        heed_runtime_desc desc = {};
        heed_runtime *runtime = nullptr;

        executor.size = sizeof executor;
        executor.width = width;
        desc.size = sizeof desc;
        desc.executor = &executor;
        check(heed_runtime_create(&desc, &runtime, &report), report);
        check(heed_device_find(runtime, nullptr, &device, &report), report);
    }
    return device;
}

/* What one thread runs with. */
class Thread
{
    std::list<Plan> plans; /* the one that was asked for last is the first */
    std::unordered_map<std::string, std::list<Plan>::iterator> found;
    std::unique_ptr<char[]> memory;
    size_t room = 0;
    std::string key;
    heed_device *device = nullptr;
    heed_queue *queue = nullptr;
    uint32_t most = 0, width = 0;

    void forget()
    {
        found.clear();
        plans.clear();
        heed_queue_destroy(queue);
        queue = nullptr;
    }

    /* Makes runs so wide: by the queue, or where the device has fewer, by another one. */
    void widen(uint32_t threads)
    {
        heed_report report = fresh_report();
        heed_device_props props = {};

        if (threads > most || !queue) {
            forget();
            device = device_of(threads);
            check(heed_queue_create(device, 0, &queue, &report), report);
            most = threads;
        }
        props.size = sizeof props;
        check(heed_device_info(device, &props), report);
        check(heed_queue_width(queue, std::min(threads, props.width), &report), report);
        width = threads;
    }

    Plan &make(const Call &call, const Tensor &o, const Maybe &lse)
    {
        Descriptor made;
        heed_report report = fresh_report();

        describe(made, call, o, lse);
        plans.emplace_front();
        Plan &plan = plans.front();
        const heed_status status = heed_attn_plan(device, &made.desc, &plan.plan, &report);

        if (status < 0) {
            plans.pop_front();
            check(status, report);
        }
        plan.props.size = sizeof plan.props;
        check(heed_plan_info(plan.plan, &plan.props), report);
        plan.key = key;
        found[key] = plans.begin();
        if (plans.size() > MOST_PLANS) {
            found.erase(plans.back().key);
            plans.pop_back();
        }
        return plan;
    }

    Plan &plan_of(const Call &call, const Tensor &o, const Maybe &lse)
    {
        write_key(key, call);
        const auto at = found.find(key);

        if (at == found.end())
            return make(call, o, lse);
        plans.splice(plans.begin(), plans, at->second);
        return plans.front();
    }

    char *workspace(const heed_plan_props &props)
    {
        const size_t size = props.workspace_size + props.workspace_align;

        if (size > room) {
            memory.reset();
            memory.reset(new char[2 * size]);
            room = 2 * size;
        }
        const uintptr_t at = reinterpret_cast<uintptr_t>(memory.get());

        return memory.get() + (-at & (props.workspace_align - 1));
    }

public:
    Thread() = default;
    Thread(const Thread &) = delete;
    Thread &operator=(const Thread &) = delete;
    ~Thread()
    {
        forget();
    }

    void attend(const Call &call, const Tensor &o, const Maybe &lse)
    {
        const uint32_t threads = torch::stable::get_num_threads();
        heed_report report = fresh_report();

        if (threads != width)
            widen(threads);
        const Plan &plan = plan_of(call, o, lse);
        heed_buf slots[64];
        const heed_kv_bufs kv = {{call.k.data_ptr(), 0}, {call.v.data_ptr(), 0}};
        heed_attn_args args = {};
        uint32_t n = 0;

        for (const Maybe *tensor : named(call))
            if (*tensor)
                slots[n++] = {(**tensor).data_ptr(), 0};
        for (const Tensor &tensor : call.slots)
            slots[n++] = {tensor.data_ptr(), 0};
        args.size = sizeof args;
        args.kv_size = sizeof kv;
        args.q = {call.q.data_ptr(), 0};
        args.o = {o.data_ptr(), 0};
        args.lse.handle = lse ? lse->data_ptr() : nullptr;
        args.sinks.handle = call.sinks ? call.sinks->data_ptr() : nullptr;
        args.workspace.handle = workspace(plan.props);
        args.workspace_size = plan.props.workspace_size;
        args.kv = &kv;
        args.slots = slots;
        args.n_slots = n;
        check(heed_attn_run(plan.plan, queue, &args, nullptr, &report), report);
    }
};

/* ---- the operators ------------------------------------------------------------------------------ */

void check_call(const Call &call)
{
    const struct {
        const char *name;
        const Tensor &tensor;
    } needed[] = {{"q", call.q}, {"k", call.k}, {"v", call.v}};

    for (const auto &one : needed)
        if (one.tensor.dim() < 3)
            refuse(HEED_E_VALUE, one.name, "heads, rows and channels are wanted");
    if (call.terms.size() % TERM_NUMBERS || call.biases.size() % BIAS_NUMBERS)
        refuse(HEED_E_VALUE, "terms", "eight numbers a term and seven a bias are wanted");
    if (call.slots.size() > 50)
        refuse(HEED_E_UNSUPPORTED, "slots", "more than 50 tensors of terms and biases");
}

std::tuple<Tensor, Maybe> compute(Call &call, const Maybe &visible)
{
    static thread_local Thread here;

    check_call(call);
    if (visible)
        show(call, *visible);
    const Numbers batch = batch_of(call);
    Tensor o = output_of(call, batch);
    Maybe lse;

    if (call.wants_lse)
        lse = lse_of(call, batch);
    here.attend(call, o, lse);
    return {o, lse};
}

/* The parameters of both operators, in the order of their schema. */
#define PARAMETERS                                                                                 \
    Tensor q, Tensor k, Tensor v, Numbers terms, Numbers biases,                                   \
        std::optional<std::vector<Tensor>> slots, bool causal, int64_t align, int64_t layout,      \
        int64_t run, int64_t rows, Maybe slot, Maybe len, Maybe mask, Maybe k_scale,               \
        Maybe v_scale, Maybe sinks, Maybe q_pos, Maybe q_len, Maybe q_begins, Maybe visible,       \
        std::optional<double> scale, double softcap
#define CALL(wants_lse)                                                                            \
    {                                                                                              \
        q, k, v, terms, biases, slots.value_or(std::vector<Tensor>()), causal, wants_lse, align,   \
            layout, run, rows, slot, len, mask, k_scale, v_scale, sinks, q_pos, q_len, q_begins,   \
            scale, softcap                                                                         \
    }

Tensor attention(PARAMETERS)
{
    Call call = CALL(false);

    return std::get<0>(compute(call, visible));
}

std::tuple<Tensor, Tensor> attention_lse(PARAMETERS)
{
    Call call = CALL(true);
    auto [o, lse] = compute(call, visible);

    return {o, *lse};
}

} // namespace

STABLE_TORCH_LIBRARY_IMPL(heed, CPU, m)
{
    m.impl("attention", TORCH_BOX(&attention));
    m.impl("attention_lse", TORCH_BOX(&attention_lse));
}

/* The report of the last call of this thread that failed; the status, 0 where none did. */
extern "C" __attribute__((visibility("default"))) heed_status heed_torch_failure(heed_report *report)
{
    *report = last_failure;
    last_failure = {};
    return report->status;
}
