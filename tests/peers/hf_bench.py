# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding by transformers, with heed beside eager attention and sdpa: hf_bench.py CASE [STEPS].

One model with the same weights for each implementation, each with its own cache, is given one token
at a time in turn: eager, sdpa, heed, eager and so on. Prints the medians of the time of a step and
of the ratios of neighbours, other time / heed's time, with the quartiles of the latter. More than 1
means that heed is faster.
"""

import statistics
import sys
import time

import heed
import heed.transformers
import torch
import transformers as hf

heed.transformers.register()

SMALL = {"vocab_size": 1000, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4,
         "num_attention_heads": 8, "num_key_value_heads": 4}
WIDE = {"vocab_size": 1000, "hidden_size": 4096, "intermediate_size": 1024, "num_hidden_layers": 1,
        "num_attention_heads": 32, "num_key_value_heads": 8}
MORE = {"max_position_embeddings": 16384}
# Configuration, items, context, element type, cache.
CASES = {
    "small": (hf.LlamaConfig(**SMALL, **MORE), 1, 128, torch.float32, "dynamic"),
    "small-batch": (hf.LlamaConfig(**SMALL, **MORE), 4, 128, torch.float32, "dynamic"),
    "2k": (hf.LlamaConfig(**WIDE, **MORE), 1, 2048, torch.float32, "dynamic"),
    "8k": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.float32, "dynamic"),
    "2k-static": (hf.LlamaConfig(**WIDE, **MORE), 1, 2048, torch.float32, "static"),
    "8k-static": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.float32, "static"),
    "2k-bf16": (hf.LlamaConfig(**WIDE, **MORE), 1, 2048, torch.bfloat16, "static"),
    "8k-bf16": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.bfloat16, "static"),
    "8k-window": (hf.MistralConfig(**WIDE, **MORE, sliding_window=4096), 1, 8192, torch.float32,
                  "dynamic"),
    "2k-softcap": (hf.Gemma2Config(**{**WIDE, "num_hidden_layers": 2}, **MORE, head_dim=128,
                                   sliding_window=4096), 1, 2048, torch.float32, "static"),
    "2k-sinks": (hf.GptOssConfig(**{**WIDE, "num_hidden_layers": 2}, **MORE, head_dim=128,
                                 num_local_experts=2, num_experts_per_tok=1), 1, 2048,
                 torch.float32, "static"),
}
STEPS = 40


def filled(model, config, items, context, cache, steps):
    """A cache in which a context stands: of random numbers, which is quicker than to compute it."""
    room = hf.StaticCache(config=config, max_cache_len=context + steps) if cache == "static" \
        else hf.DynamicCache(config=config)
    made = torch.Generator().manual_seed(0)
    shape = (items, config.num_key_value_heads, context,
             getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
    for layer in range(config.num_hidden_layers):
        k, v = (torch.randn(shape, generator=made).to(model.dtype) for _ in range(2))
        room.update(k, v, layer)
    return room


def models_of(config, items, context, dtype, cache, steps):
    """(step, model) by implementation, as far as the model has it."""
    made = {}
    for kind in ("eager", "sdpa", "heed"):
        torch.manual_seed(0)
        try:
            model = hf.AutoModelForCausalLM.from_config(config.__class__(**config.to_diff_dict()),
                                                        attn_implementation=kind).to(dtype).eval()
        except ValueError:      # Gemma 2 and GPT-OSS have no sdpa
            continue
        made[kind] = (model, filled(model, config, items, context, cache, steps))
    return made


def main(name, steps=STEPS):
    config, items, context, dtype, cache = CASES[name]
    made = models_of(config, items, context, dtype, cache, steps + 2)
    token, times = torch.ones(items, 1, dtype=torch.long), {kind: [] for kind in made}
    with torch.inference_mode():
        for _ in range(steps + 2):
            outs = {}
            for kind, (model, room) in made.items():
                start = time.perf_counter()
                outs[kind] = model(token, past_key_values=room).logits
                times[kind].append(time.perf_counter() - start)
    off = max(float((outs["eager"] - out).abs().max()) for out in outs.values())
    times = {kind: found[2:] for kind, found in times.items()}
    text = [f"{name}: logits within {off:.1e} of eager's"]
    for kind, found in times.items():
        text.append(f"{kind} {statistics.median(found) * 1e3:.3f} ms")
        if kind != "heed":
            low, middle, high = statistics.quantiles(
                [other / mine for other, mine in zip(found, times["heed"])], n=4)
            text.append(f"  {kind} / heed {middle:.2f} ({low:.2f} to {high:.2f})")
    print("; ".join(text), flush=True)


if __name__ == "__main__":
    print(f"torch {torch.__version__}, transformers {hf.__version__}, "
          f"{torch.get_num_threads()} threads; " + heed.build_text().splitlines()[0])
    for case in sys.argv[1:2] if sys.argv[1:2] and sys.argv[1] != "all" else CASES:
        main(case, *(int(count) for count in sys.argv[2:]))
