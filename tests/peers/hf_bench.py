# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding by transformers, with heed beside eager attention and sdpa: hf_bench.py [CASE [STEPS]].

A model is given one token at a time by each implementation in turn, eager, sdpa, heed, eager and so
on, each with a cache of its own. Prints for each the median of the time of a
step and of what the attentions take of it, in ms, and of the ratios of neighbours, the other's time
over heed's, with their quartiles. More than 1 means that heed is faster.
"""

import statistics
import sys
import time

import heed
import heed.transformers
import torch
import transformers as hf
from transformers.modeling_utils import AttentionInterface

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
    "2k-growing": (hf.LlamaConfig(**WIDE, **MORE), 1, 2048, torch.float32, "growing"),
    "8k-growing": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.float32, "growing"),
    "8k-static": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.float32, "static"),
    "2k-bf16": (hf.LlamaConfig(**WIDE, **MORE), 1, 2048, torch.bfloat16, "static"),
    "8k-bf16": (hf.LlamaConfig(**WIDE, **MORE), 1, 8192, torch.bfloat16, "static"),
    "8k-window": (hf.MistralConfig(**WIDE, **MORE, sliding_window=4096), 1, 8192, torch.float32,
                  "dynamic"),
    "8k-window-growing": (hf.MistralConfig(**WIDE, **MORE, sliding_window=4096), 1, 8192,
                          torch.float32, "growing"),
    "2k-softcap": (hf.Gemma2Config(**{**WIDE, "num_hidden_layers": 2}, **MORE, head_dim=128,
                                   sliding_window=4096), 1, 2048, torch.float32, "static"),
    "2k-sinks": (hf.GptOssConfig(**{**WIDE, "num_hidden_layers": 2}, **MORE, head_dim=128,
                                 num_local_experts=2, num_experts_per_tok=1), 1, 2048,
                 torch.float32, "static"),
}
STEPS = 40


def filled(model, config, items, context, cache, steps):
    """A cache in which a context stands: of random numbers, which is quicker than to compute it."""
    room = {"static": lambda: hf.StaticCache(config=config, max_cache_len=context + steps),
            "dynamic": lambda: hf.DynamicCache(config=config),
            "growing": lambda: heed.transformers.GrowingCache(config)}[cache]()
    made = torch.Generator().manual_seed(0)
    shape = (items, config.num_key_value_heads, context,
             getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)
    for layer in range(config.num_hidden_layers):
        k, v = (torch.randn(shape, generator=made).to(model.dtype) for _ in range(2))
        room.update(k, v, layer)
    return room


def kinds_of(model):
    """The implementations that a model has: Gemma 2 and GPT-OSS have no sdpa."""
    return ["eager", *(["sdpa"] if model._supports_sdpa else []), "heed"]


class Timed:
    """A function that adds up the time of its calls."""

    def __init__(self, function):
        self.function, self.spent = function, 0.0

    def __call__(self, *args, **kwargs):
        start = time.perf_counter()
        try:
            return self.function(*args, **kwargs)
        finally:
            self.spent += time.perf_counter() - start


def timed_attentions(model, kinds):
    """A Timed by implementation, in place of its attention."""
    module = sys.modules[type(model).__module__]
    found = {kind: Timed(module.eager_attention_forward if kind == "eager" else
                         AttentionInterface._global_mapping[kind]) for kind in kinds}
    install(model, found)
    return found


def install(model, functions):
    for kind, function in functions.items():
        if kind == "eager":
            sys.modules[type(model).__module__].eager_attention_forward = function
        else:
            AttentionInterface.register(kind, function)


def ratios(others, mine):
    """The median of the ratios of neighbours, and their quartiles, as text."""
    low, middle, high = statistics.quantiles([x / y for x, y in zip(others, mine)], n=4)
    return f"{middle:.2f} ({low:.2f} .. {high:.2f})"


def main(name, steps=STEPS):
    config, items, context, dtype, cache = CASES[name]
    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(config).to(dtype).eval()
    kinds = kinds_of(model)
    attentions = timed_attentions(model, kinds)
    rooms = {kind: filled(model, config, items, context, cache, steps + 2) for kind in kinds}
    token = torch.ones(items, 1, dtype=torch.long)
    times, spent = ({kind: [] for kind in kinds} for _ in range(2))
    with torch.inference_mode():
        for _ in range(steps + 2):
            outs = {}
            for kind in kinds:
                model.set_attn_implementation(kind)
                attentions[kind].spent, start = 0.0, time.perf_counter()
                outs[kind] = model(token, past_key_values=rooms[kind]).logits
                times[kind].append(time.perf_counter() - start)
                spent[kind].append(attentions[kind].spent)
    off = max(float((outs["eager"] - out).abs().max()) for out in outs.values())
    text = [f"{name}: logits within {off:.0e}"]
    for kind in kinds:
        step, part = times[kind][2:], spent[kind][2:]
        text.append(f"{kind} {statistics.median(step) * 1e3:.2f}, attention "
                    f"{statistics.median(part) * 1e3:.3f}")
        if kind != "heed":
            text[-1] += (f", over heed's {ratios(step, times['heed'][2:])}, "
                         f"{ratios(part, spent['heed'][2:])}")
    print("; ".join(text), flush=True)
    install(model, {kind: one.function for kind, one in attentions.items()})


if __name__ == "__main__":
    print(f"torch {torch.__version__}, transformers {hf.__version__}, "
          f"{torch.get_num_threads()} threads; " + heed.build_text().splitlines()[0])
    for case in sys.argv[1:2] or CASES:
        main(case, *(int(count) for count in sys.argv[2:]))
