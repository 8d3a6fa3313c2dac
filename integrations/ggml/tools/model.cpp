// SPDX-FileCopyrightText: The heed authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes a model of random weights: ggml-heed-model tiny|large FILE
//
// tiny: 4 layers, 8 heads on 2 of 64 channels, halves: for bits. large: the shapes of a model with
// 1.5 billion parameters (28 layers, 12 heads on 2 of 128 channels, 151,936 tokens), q4_0: for speed.
#include "pair.hpp"

#include "ggml.h"
#include "gguf.h"

namespace {

struct sizes {
    uint32_t layers, width, inner, heads, kv_heads, d, tokens, context;
    ggml_type type;
};

const sizes tiny = { 4, 512, 1024, 8, 2, 64, 1000, 8192, GGML_TYPE_F16 };
const sizes large = { 28, 1536, 8960, 12, 2, 128, 151936, 16384, GGML_TYPE_Q4_0 };

struct writer {
    sizes s = tiny;
    gguf_context *file = gguf_init_empty();
    std::vector<ggml_context *> contexts;
    random_numbers random = { 7 };

    ggml_tensor *add(const std::string &name, ggml_type type, int64_t n, int64_t rows)
    {
        const size_t size = ggml_row_size(type, n) * (size_t)rows + 4096;
        ggml_context *x = ggml_init({ size, nullptr, false });
        ggml_tensor *t = rows > 1 ? ggml_new_tensor_2d(x, type, n, rows)
                                  : ggml_new_tensor_1d(x, type, n);
        ggml_set_name(t, name.c_str());
        contexts.push_back(x);
        return t;
    }
    void ones(const std::string &name)
    {
        ggml_tensor *t = add(name, GGML_TYPE_F32, s.width, 1);
        for (uint32_t i = 0; i < s.width; i++)
            ((float *)t->data)[i] = 1;
        gguf_add_tensor(file, t);
    }
    // Rows of 61 drawn ones, in a drawn order: a large matrix is made as fast as it is written.
    void matrix(const std::string &name, int64_t n, int64_t rows)
    {
        enum { DRAWN = 61 };
        ggml_tensor *t = add(name, s.type, n, rows);
        const size_t bytes = ggml_row_size(s.type, n);
        const int64_t drawn = s.type == GGML_TYPE_F16 ? rows : std::min<int64_t>(rows, DRAWN);
        std::vector<float> x((size_t)(drawn * n));
        std::vector<char> made(bytes * (size_t)drawn);
        for (float &y : x)
            y = random.normal() * 1.5f / sqrtf((float)n);
        ggml_quantize_chunk(s.type, x.data(), made.data(), 0, drawn, n, nullptr);
        for (int64_t i = 0; i < rows; i++) {
            const size_t from = drawn == rows ? (size_t)i : random.word() % (size_t)drawn;
            memcpy((char *)t->data + (size_t)i * bytes, made.data() + from * bytes, bytes);
        }
        gguf_add_tensor(file, t);
    }
};

void describe(writer &w)
{
    gguf_set_val_str(w.file, "general.architecture", "llama");
    gguf_set_val_u32(w.file, "llama.block_count", w.s.layers);
    gguf_set_val_u32(w.file, "llama.context_length", w.s.context);
    gguf_set_val_u32(w.file, "llama.embedding_length", w.s.width);
    gguf_set_val_u32(w.file, "llama.feed_forward_length", w.s.inner);
    gguf_set_val_u32(w.file, "llama.attention.head_count", w.s.heads);
    gguf_set_val_u32(w.file, "llama.attention.head_count_kv", w.s.kv_heads);
    gguf_set_val_f32(w.file, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_set_val_u32(w.file, "llama.rope.dimension_count", w.s.d);
    gguf_set_val_u32(w.file, "llama.vocab_size", w.s.tokens);
    gguf_set_val_str(w.file, "tokenizer.ggml.model", "none");
}

void add_layer(writer &w, uint32_t i)
{
    const std::string at = "blk." + std::to_string(i) + ".";
    const sizes &s = w.s;
    w.ones(at + "attn_norm.weight");
    w.ones(at + "ffn_norm.weight");
    w.matrix(at + "attn_q.weight", s.width, s.heads * s.d);
    w.matrix(at + "attn_k.weight", s.width, s.kv_heads * s.d);
    w.matrix(at + "attn_v.weight", s.width, s.kv_heads * s.d);
    w.matrix(at + "attn_output.weight", s.heads * s.d, s.width);
    w.matrix(at + "ffn_gate.weight", s.width, s.inner);
    w.matrix(at + "ffn_up.weight", s.width, s.inner);
    w.matrix(at + "ffn_down.weight", s.inner, s.width);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "tiny") && strcmp(argv[1], "large")))
        die("usage: ggml-heed-model tiny|large FILE");
    writer w;
    w.s = strcmp(argv[1], "tiny") ? large : tiny;
    describe(w);
    w.matrix("token_embd.weight", w.s.width, w.s.tokens);
    w.ones("output_norm.weight");
    if (w.s.type == GGML_TYPE_F16)
        w.matrix("output.weight", w.s.width, w.s.tokens);
    for (uint32_t i = 0; i < w.s.layers; i++)
        add_layer(w, i);
    if (!gguf_write_to_file(w.file, argv[2], false))
        die(std::string(argv[2]) + ": not written");
    gguf_free(w.file);
    for (ggml_context *x : w.contexts)
        ggml_free(x);
    return 0;
}
