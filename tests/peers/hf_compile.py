# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers under torch.compile, with heed as their attention: one graph without a
break, which has heed's operators and no other attention, and gives the bits that the model has
without a graph (those hf_numerics judges); greedy decoding with a static cache gives eager
attention's ids. hf_compile.py [NAME...]"""

import functools
import sys

import torch

import common
import hf_models

NEW, ROOM = 12, 64
LEFT_OUT = {"BLOOM": "its own code computes with masks"}
STATIC = ["Mistral, windows", "Llama", "Gemma 3", "GPT-OSS", "Qwen3"]
BACKEND = "aot_eager"


def first_of(out):
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


def attentions(graphs):
    """The nodes of heed in graphs, and of other attentions."""
    names = [str(node.target) for graph in graphs for node in graph.graph.nodes]
    return (sum("heed.attention" in name for name in names),
            sum("scaled_dot_product" in name for name in names))


def kept(graphs):
    """A backend that keeps the graphs that it is given."""
    run = torch._dynamo.lookup_backend(BACKEND)
    return lambda graph, inputs: graphs.append(graph) or run(graph, inputs)


def whole(name, report):
    """A forward of one graph, for several lengths; padding where the model's kind has it."""
    torch._dynamo.reset()
    heeds, eager, graphs = hf_models.make(name), hf_models.make(name, "eager"), []
    compiled = torch.compile(heeds, backend=kept(graphs), fullgraph=True, dynamic=True)
    pair = name in hf_models.PAIRS
    off = apart = 0
    with torch.no_grad():
        for items, length in ((3, 31), (2, 17)):
            ids, there = hf_models.prompts(items, length,
                                           "left" if name in hf_models.DECODERS else "right")
            given = {"attention_mask": there, "use_cache": False}
            if pair:
                given["decoder_input_ids"] = ids
            else:
                ids = ids * there
            got, same, wanted = (first_of(model(ids, **given)) for model in (compiled, heeds, eager))
            rows = torch.ones_like(there, dtype=torch.bool) if pair else there.bool()
            size = wanted[rows].abs().max()
            off = max(off, ((got - wanted)[rows].abs().max() / size).item())
            apart = max(apart, ((got - same)[rows].abs().max() / size).item())
    ours, others = attentions(graphs)
    report.add(f"{name}: one graph", ours > 0 and others == 0 and apart == 0,
               said=f"{ours} of heed's nodes, {others} of other attentions, {apart:.1e} off heed's "
                    f"without a graph, {off:.1e} off eager's, relative")


def decode(model, ids, there):
    """Greedy ids with a static cache, step by step."""
    return model.generate(ids, attention_mask=there, do_sample=False, max_new_tokens=NEW,
                          min_new_tokens=NEW, no_repeat_ngram_size=2, pad_token_id=0,
                          cache_implementation="static", disable_compile=True)


def static(name, report):
    torch._dynamo.reset()
    heeds, eager, graphs = hf_models.make(name), hf_models.make(name, "eager"), []
    ids, there = hf_models.prompts(2, 20, "left")
    with torch.no_grad():
        wanted = decode(eager, ids, there)
        heeds.forward = torch.compile(heeds.forward, backend=kept(graphs), fullgraph=True)
        got = decode(heeds, ids, there)
    ours, others = attentions(graphs)
    report.add(f"{name}: static cache", torch.equal(got, wanted) and ours > 0 and others == 0,
               said=f"{int((got != wanted).sum())} of {2 * NEW} ids are not eager's; {len(graphs)} "
                    f"graphs, {ours} of heed's nodes, {others} of other attentions")


if __name__ == "__main__":
    torch.set_num_threads(2)
    asked = sys.argv[1:] or [name for name in hf_models.CONFIGS if name not in LEFT_OUT]
    common.run([functools.partial(whole, name) for name in asked] +
               [functools.partial(static, name) for name in asked if name in STATIC])
