// SPDX-FileCopyrightText: The heed authors
// SPDX-License-Identifier: Apache-2.0
//
// Flash attention by ggml's CPU backend and by heed: one process, the same tensors, in turns.
//
//   ggml-heed-bench --cpu LIBRARY --heed LIBRARY [--device cpu:avx2] [--threads 1,2]
//                   [--types f16,q8_0,q4_0] [--only WORD] [--seconds S]
//
// A row is a shape and a number of threads. Times are those that the process had a processor with one
// thread, else those of a clock; the least ones, which a busy machine disturbs least; ratio: the median of those of pairs, with the range of four fifths of them; best: the ratio of
// the least times. nmse: squared error over squared size against binary64 on the stored numbers, of
// some rows. Exit status 1: an operation failed, heed's bits changed with the threads, or its error is
// beyond 1e-9.
#include "pair.hpp"

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace {

struct shape {
    const char *name;
    int heads, kv_heads, d, rows, keys, window, holes;   // holes: every other so many keys
};

const shape shapes[] = {
    { "1x256", 32, 8, 128, 1, 256, 0, 0 },
    { "1x4096", 32, 8, 128, 1, 4096, 0, 0 },
    { "1x16384", 32, 8, 128, 1, 16384, 0, 0 },
    { "8x4096", 32, 8, 128, 8, 4096, 0, 0 },
    { "512x512", 32, 8, 128, 512, 512, 0, 0 },
    { "512x4096", 32, 8, 128, 512, 4096, 0, 0 },
    { "512x4096-window1024", 32, 8, 128, 512, 4096, 1024, 0 },
    { "8x4096-holes16", 32, 8, 128, 8, 4096, 0, 16 },
    { "512x4096-holes16", 32, 8, 128, 512, 4096, 0, 16 },
    { "1x256-heads32/32", 32, 32, 128, 1, 256, 0, 0 },
    { "1x4096-heads32/32", 32, 32, 128, 1, 4096, 0, 0 },
};

enum { CPU, HEED, SIDES };

struct side {
    ggml_backend_t backend;
    void (*set_threads)(ggml_backend_t, int);
    ggml_tensor *out;
    ggml_cgraph *graph;
};

side open_side(const std::string &library, const char *params)
{
    side s = {};
    ggml_backend_reg_t reg = ggml_backend_load(library.c_str());
    if (!reg)
        die(library + ": not loaded");
    s.backend = ggml_backend_dev_init(ggml_backend_reg_dev_get(reg, 0), params);
    if (!s.backend)
        die(library + ": no backend");
    s.set_threads = (void (*)(ggml_backend_t, int))ggml_backend_reg_get_proc_address(
        reg, "ggml_backend_set_n_threads");
    return s;
}

double run(side &s, double (*clock)())
{
    const double begin = clock();
    if (ggml_backend_graph_compute(s.backend, s.graph) != GGML_STATUS_SUCCESS)
        die("an operation failed");
    return clock() - begin;
}

bool is_seen(const shape &c, int row, int key)
{
    const int at = c.keys - c.rows + row;
    return key <= at && (c.window == 0 || key > at - c.window) &&
           (c.holes == 0 || key / c.holes % 2 == 0);
}

// The tensors of a shape: caches [d * kv_heads][keys], as llama.cpp keeps them.
struct world {
    shape c;
    ggml_type type;
    ggml_context *context;
    ggml_backend_buffer_t buffer;
    ggml_tensor *q, *k, *v, *mask;
};

void fill(ggml_tensor *t, random_numbers &random)
{
    std::vector<float> x((size_t)ggml_nelements(t));
    for (float &y : x)
        y = random.normal();
    if (t->type == GGML_TYPE_F32)
        memcpy(t->data, x.data(), x.size() * sizeof(float));
    else
        ggml_quantize_chunk(t->type, x.data(), t->data, 0, ggml_nrows(t), t->ne[0], nullptr);
}

ggml_tensor *view_of_cache(ggml_context *x, ggml_tensor *cache, const shape &c)
{
    ggml_tensor *t = ggml_view_3d(x, cache, c.d, c.kv_heads, c.keys, ggml_row_size(cache->type, c.d),
                                  cache->nb[1], 0);
    return ggml_permute(x, t, 0, 2, 1, 3);
}

world make_world(const shape &c, ggml_type type, side *sides)
{
    world w = {};
    w.c = c, w.type = type;
    ggml_context *x = w.context = ggml_init({ 1u << 20, nullptr, true });
    ggml_tensor *q = ggml_new_tensor_3d(x, GGML_TYPE_F32, c.d, c.heads, c.rows);
    ggml_tensor *k = ggml_new_tensor_2d(x, type, c.d * c.kv_heads, c.keys);
    ggml_tensor *v = ggml_new_tensor_2d(x, type, c.d * c.kv_heads, c.keys);
    w.mask = ggml_new_tensor_2d(x, GGML_TYPE_F16, c.keys, c.rows);
    w.q = ggml_permute(x, q, 0, 2, 1, 3);
    w.k = view_of_cache(x, k, c);
    w.v = view_of_cache(x, v, c);
    for (int i = 0; i < SIDES; i++) {
        sides[i].out = ggml_flash_attn_ext(x, w.q, w.k, w.v, w.mask, 1.0f / sqrtf((float)c.d), 0, 0);
        sides[i].graph = ggml_new_graph_custom(x, 16, false);
        ggml_build_forward_expand(sides[i].graph, sides[i].out);
    }
    w.buffer = ggml_backend_alloc_ctx_tensors(x, sides[CPU].backend);
    random_numbers random = { 1 };
    fill(q, random), fill(k, random), fill(v, random);
    for (int i = 0; i < c.rows; i++)
        for (int j = 0; j < c.keys; j++)
            ((ggml_fp16_t *)w.mask->data)[(size_t)i * c.keys + j] =
                ggml_fp32_to_fp16(is_seen(c, i, j) ? 0.0f : -INFINITY);
    return w;
}

std::vector<float> row_of(const ggml_tensor *t, int row, int head)
{
    const char *at = (const char *)t->data + row * t->nb[1] + head * t->nb[2];
    std::vector<float> x((size_t)t->ne[0]);
    if (t->type == GGML_TYPE_F32)
        memcpy(x.data(), at, x.size() * sizeof(float));
    else
        ggml_get_type_traits(t->type)->to_float(at, x.data(), t->ne[0]);
    return x;
}

// One row in binary64.
std::vector<double> exact_row(const world &w, int row, int head)
{
    const int kv_head = head / (w.c.heads / w.c.kv_heads);
    const std::vector<float> q = row_of(w.q, row, head);
    std::vector<double> y, out((size_t)w.c.d);
    std::vector<int> keys;
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < w.c.keys; j++) {
        if (!is_seen(w.c, row, j))
            continue;
        const std::vector<float> k = row_of(w.k, j, kv_head);
        double dot = 0;
        for (int i = 0; i < w.c.d; i++)
            dot += (double)q[(size_t)i] * k[(size_t)i];
        y.push_back(dot * (double)(1.0f / sqrtf((float)w.c.d)));
        keys.push_back(j);
        most = std::max(most, y.back());
    }
    for (size_t n = 0; n < keys.size(); n++) {
        const std::vector<float> v = row_of(w.v, keys[n], kv_head);
        const double weight = exp(y[n] - most);
        sum += weight;
        for (int i = 0; i < w.c.d; i++)
            out[(size_t)i] += weight * v[(size_t)i];
    }
    for (double &x : out)
        x /= sum;
    return out;
}

double nmse(const world &w, const side &s)
{
    double error = 0, size = 0;
    for (int n = 0; n < 8; n++) {
        const int row = n * (w.c.rows - 1) / 7, head = n * (w.c.heads - 1) / 7;
        const std::vector<double> exact = exact_row(w, row, head);
        const float *got = (const float *)((const char *)s.out->data + row * s.out->nb[2] +
                                           head * s.out->nb[1]);
        for (int i = 0; i < w.c.d; i++) {
            error += (got[i] - exact[(size_t)i]) * (got[i] - exact[(size_t)i]);
            size += exact[(size_t)i] * exact[(size_t)i];
        }
    }
    return error / size;
}

struct timed {
    double us[SIDES], ratio, low, high;
};

timed time_pairs(side *sides, double seconds, double (*clock)())
{
    std::vector<double> us[SIDES], ratios;
    for (int i = 0; i < SIDES; i++)
        run(sides[i], clock);
    const double begin = now_us();
    for (int r = 0; r < 2000 && (r < 5 || now_us() - begin < seconds * 1e6); r++) {
        for (int i = 0; i < SIDES; i++) {
            side &s = sides[r % 2 ? SIDES - 1 - i : i];
            us[&s - sides].push_back(run(s, clock));
        }
        ratios.push_back(us[CPU].back() / us[HEED].back());
    }
    std::sort(ratios.begin(), ratios.end());
    return { { *std::min_element(us[CPU].begin(), us[CPU].end()),
               *std::min_element(us[HEED].begin(), us[HEED].end()) },
             median(ratios), ratios[ratios.size() / 10], ratios[ratios.size() - 1 - ratios.size() / 10] };
}

bool measure(const shape &c, const std::string &type, const std::vector<std::string> &threads,
             side *sides, double seconds)
{
    world w = make_world(c, type == "f16" ? GGML_TYPE_F16 : type == "q8_0" ? GGML_TYPE_Q8_0
                         : GGML_TYPE_Q4_0, sides);
    const size_t bytes = ggml_nbytes(sides[HEED].out);
    std::vector<char> first;
    bool good = true;
    for (const std::string &t : threads) {
        for (int i = 0; i < SIDES; i++)
            sides[i].set_threads(sides[i].backend, atoi(t.c_str()));
        const timed pairs = time_pairs(sides, seconds, t == "1" ? processor_us : now_us);
        const double errors[SIDES] = { nmse(w, sides[CPU]), nmse(w, sides[HEED]) };
        const char *out = (const char *)sides[HEED].out->data;
        if (first.empty())
            first.assign(out, out + bytes);
        const bool same = !memcmp(first.data(), out, bytes);
        const bool near = errors[HEED] <= 1e-9;
        printf("%-20s %-5s %7s %11.1f %11.1f %7.2f %7.2f %6.2f-%-6.2f %9.1e %9.1e%s%s\n", c.name,
               type.c_str(), t.c_str(), pairs.us[CPU], pairs.us[HEED],
               pairs.us[CPU] / pairs.us[HEED], pairs.ratio, pairs.low, pairs.high, errors[CPU], errors[HEED], same ? "" : "  BITS DIFFER",
               near ? "" : "  TOO FAR");
        fflush(stdout);
        good = good && same && near;
    }
    ggml_backend_buffer_free(w.buffer);
    ggml_free(w.context);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string device = option(argc, argv, "--device", "");
    const std::string only = option(argc, argv, "--only", "");
    const double seconds = atof(option(argc, argv, "--seconds", "1.5").c_str());
    const std::vector<std::string> threads = split(option(argc, argv, "--threads", "1,2"));
    side sides[SIDES] = { open_side(option(argc, argv, "--cpu", ""), nullptr),
                          open_side(option(argc, argv, "--heed", ""), device.c_str()) };
    bool good = true;
    printf("%-20s %-5s %7s %11s %11s %7s %7s %13s %9s %9s\n", "rows x keys", "cache", "threads",
           "ggml us", "heed us", "best", "ratio", "of pairs", "nmse ggml", "nmse heed");
    for (const std::string &type : split(option(argc, argv, "--types", "f16,q8_0,q4_0")))
        for (const shape &c : shapes)
            if (only.empty() || strstr(c.name, only.c_str()))
                good = measure(c, type, threads, sides, seconds) && good;
    for (side &s : sides)
        ggml_backend_free(s.backend);
    return good ? 0 : 1;
}
