// SPDX-FileCopyrightText: The heed authors
// SPDX-License-Identifier: Apache-2.0
//
// Tokens through llama.cpp:
//
//   ggml-heed-tokens bits MODEL --cpu LIBRARY --heed LIBRARY
//   ggml-heed-tokens rate MODEL --cpu LIBRARY --heed LIBRARY [--depth N] [--threads N]
//                    [--types f16,q8_0]
//
// bits: digests of all logits of a prompt of 600 tokens and 12 more, for threads, micro-batches, caches,
// and a prompt whose state was saved and restored; heed's must be equal. ggml's are printed as well.
// rate: tokens a second of a long prompt and behind it, with heed, with ggml's flash attention and
// without flash attention; those behind the prompt in turns. Exit status 1: bits differ.
#include "pair.hpp"

#include "ggml-backend.h"
#include "llama.h"

namespace {

constexpr int steps = 12;

struct setting {
    int threads, ubatch;
    const char *cache;
    bool flash;
    int context;
};

ggml_type type_of(const std::string &cache)
{
    return cache == "q8_0" ? GGML_TYPE_Q8_0 : cache == "q4_0" ? GGML_TYPE_Q4_0 : GGML_TYPE_F16;
}

llama_context *make_context(llama_model *model, const setting &s)
{
    llama_context_params p = llama_context_default_params();
    p.n_ctx = (uint32_t)s.context;
    p.n_batch = (uint32_t)s.context;
    p.n_ubatch = (uint32_t)s.ubatch;
    p.n_threads = p.n_threads_batch = s.threads;
    p.flash_attn_type = s.flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    p.type_k = p.type_v = type_of(s.cache);
    llama_context *c = llama_init_from_model(model, p);
    if (!c)
        die("no context");
    return c;
}

void decode(llama_context *c, std::vector<llama_token> tokens)
{
    if (llama_decode(c, llama_batch_get_one(tokens.data(), (int)tokens.size())))
        die("decoding failed");
}

std::vector<llama_token> prompt_of(int n, int tokens)
{
    random_numbers random = { 3 };
    std::vector<llama_token> prompt;
    for (int i = 0; i < n; i++)
        prompt.push_back((llama_token)(random.word() % (uint32_t)tokens));
    return prompt;
}

// FNV-1a over the logits of the last token; the largest one is the next token.
llama_token digest(llama_context *c, int tokens, uint64_t *sum)
{
    const float *logits = llama_get_logits_ith(c, -1);
    llama_token best = 0;
    for (int i = 0; i < tokens; i++) {
        uint32_t bits;
        memcpy(&bits, logits + i, sizeof bits);
        *sum = (*sum ^ bits) * 0x100000001b3u;
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

int tokens_of(const llama_model *model) { return llama_vocab_n_tokens(llama_model_get_vocab(model)); }

uint64_t digest_of_steps(llama_context *c, int tokens)
{
    uint64_t sum = 0xcbf29ce484222325;
    for (int i = 0; i < steps; i++)
        decode(c, { digest(c, tokens, &sum) });
    digest(c, tokens, &sum);
    return sum;
}

// The prompt but its last token comes from a saved state where `saved` says so.
uint64_t digest_of_run(llama_model *model, const setting &s, bool saved)
{
    std::vector<llama_token> prompt = prompt_of(600, tokens_of(model));
    const llama_token last = prompt.back();
    llama_context *c = make_context(model, s);
    prompt.pop_back();
    decode(c, prompt);
    if (saved) {
        std::vector<uint8_t> state(llama_state_get_size(c));
        state.resize(llama_state_get_data(c, state.data(), state.size()));
        llama_free(c);
        c = make_context(model, s);
        if (llama_state_set_data(c, state.data(), state.size()) == 0)
            die("no state");
    }
    decode(c, { last });
    const uint64_t sum = digest_of_steps(c, tokens_of(model));
    llama_free(c);
    return sum;
}

// How many digests there are for a cache; one line each.
int digests_of_cache(llama_model *model, const char *who, const char *cache)
{
    std::vector<uint64_t> found;
    for (int threads = 1; threads <= 3; threads++)
        for (int ubatch : { 512, 128, 37 })
            for (bool saved : { false, true }) {
                const setting s = { threads, ubatch, cache, true, 1024 };
                if (saved && ubatch != 128)
                    continue;
                const uint64_t sum = digest_of_run(model, s, saved);
                printf("%-5s %-5s %d threads, micro-batch %3d%s: %016llx\n", who, cache, threads,
                       ubatch, saved ? ", state restored" : "", (unsigned long long)sum);
                if (std::find(found.begin(), found.end(), sum) == found.end())
                    found.push_back(sum);
            }
    printf("%-5s %-5s %zu digest%s\n", who, cache, found.size(), found.size() == 1 ? "" : "s");
    fflush(stdout);
    return (int)found.size();
}

void load(const std::string &library)
{
    if (!ggml_backend_load(library.c_str()))
        die(library + ": not loaded");
}

int bits(llama_model *model, const std::string &heed)
{
    int wrong = 0;
    for (const char *cache : { "f16", "q8_0", "q4_0" })
        digests_of_cache(model, "ggml", cache);
    load(heed);
    for (const char *cache : { "f16", "q8_0", "q4_0" })
        wrong += digests_of_cache(model, "heed", cache) != 1;
    return wrong != 0;
}

// ---- rates

struct runner {
    const char *name;
    llama_context *context;
    double prompt_us;
    std::vector<double> us;
};

runner fill(llama_model *model, const char *name, const setting &s, int depth)
{
    runner r = { name, make_context(model, s), 0, {} };
    const std::vector<llama_token> prompt = prompt_of(depth, tokens_of(model));
    const double begin = now_us();
    decode(r.context, prompt);
    llama_synchronize(r.context);
    r.prompt_us = now_us() - begin;
    return r;
}

void rate_of_cache(llama_model *model, const std::string &cache, int depth, int threads,
                   std::vector<runner> &runners, bool heed)
{
    const setting s = { threads, 512, cache.c_str(), true, depth + 256 };
    if (heed) {
        runners.push_back(fill(model, "heed", s, depth));
        return;
    }
    runners.push_back(fill(model, "ggml -fa on", s, depth));
    if (cache == "f16") {           // other caches of values want flash attention
        setting off = s;
        off.flash = false;
        runners.push_back(fill(model, "ggml -fa off", off, depth));
    }
}

void in_turns(std::vector<runner> &runners)
{
    for (int i = 0; i < 24; i++)
        for (runner &r : runners) {
            const double begin = now_us();
            decode(r.context, { (llama_token)(i + 1) });
            llama_synchronize(r.context);
            r.us.push_back(now_us() - begin);
        }
}

int rate(llama_model *model, const std::string &heed, const std::vector<std::string> &caches,
         int depth, int threads)
{
    std::vector<std::vector<runner>> all(caches.size());
    for (size_t i = 0; i < caches.size(); i++)
        rate_of_cache(model, caches[i], depth, threads, all[i], false);
    load(heed);                     // contexts from here on have it
    printf("%-5s %7s %7s  %-12s %16s %16s %12s\n", "cache", "tokens", "threads", "attention",
           "prompt tokens/s", "then tokens/s", "slowest ms");
    for (size_t i = 0; i < caches.size(); i++) {
        rate_of_cache(model, caches[i], depth, threads, all[i], true);
        in_turns(all[i]);
        for (runner &r : all[i]) {
            printf("%-5s %7d %7d  %-12s %16.1f %16.2f %12.1f\n", caches[i].c_str(), depth, threads,
                   r.name, depth / r.prompt_us * 1e6, 1e6 / median(r.us),
                   *std::max_element(r.us.begin(), r.us.end()) / 1000);
            llama_free(r.context);
        }
        fflush(stdout);
    }
    return 0;
}

void only_errors(ggml_log_level level, const char *text, void *)
{
    if (level == GGML_LOG_LEVEL_ERROR)
        fputs(text, stderr);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[1], "bits") && strcmp(argv[1], "rate")))
        die("usage: ggml-heed-tokens bits|rate MODEL --cpu LIBRARY --heed LIBRARY ...");
    const std::string heed = option(argc, argv, "--heed", "");
    llama_log_set(only_errors, nullptr);
    const std::string cpu = option(argc, argv, "--cpu", "");
    if (!cpu.empty())               // else it is within ggml
        load(cpu);
    llama_backend_init();
    llama_model *model = llama_model_load_from_file(argv[2], llama_model_default_params());
    if (!model)
        die(std::string(argv[2]) + ": no model");
    const int status =
        !strcmp(argv[1], "bits")
            ? bits(model, heed)
            : rate(model, heed, split(option(argc, argv, "--types", "f16,q8_0")),
                   atoi(option(argc, argv, "--depth", "8192").c_str()),
                   atoi(option(argc, argv, "--threads", "2").c_str()));
    llama_model_free(model);
    llama_backend_free();
    return status;
}
