# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What heed does not do for transformers is refused by an exception that says so; what may be done
in any order, or by two threads, is."""

import concurrent.futures
import copy

import heed
import heed.transformers
import torch
import transformers as hf

import common
import hf_models
from heed.transformers import Refused


class Causal(torch.nn.Module):
    is_causal = True


def refused(report, name, call, words, kinds=(Refused,)):
    """Whether a call raises one of these kinds, with these words."""
    try:
        call()
        said = "it was done"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        report.add(f"refused: {name}", isinstance(error, kinds) and words in str(error),
                   said=said[:110])
        return
    report.add(f"refused: {name}", False, said=said)


def models(report):
    """What a model asks for."""
    ids, there = hf_models.prompts(2, 7)
    model = hf_models.make("Mistral, windows")
    refused(report, "gradients", lambda: model(ids), "inference only")
    with torch.no_grad():
        refused(report, "attention weights", lambda: model(ids, output_attentions=True),
                "output_attentions")
        bart = hf_models.make("BART")
        refused(report, "attention weights of a pair", lambda: bart(
            ids, decoder_input_ids=ids, output_attentions=True), "output_attentions")
        bloom = hf_models.make("BLOOM")
        refused(report, "attention weights of BLOOM", lambda: bloom(ids, output_attentions=True),
                "output_attentions")
        train = hf.AutoModelForCausalLM.from_config(
            hf.MistralConfig(**hf_models.GROUPED, attention_dropout=0.1),
            attn_implementation="heed").train()
        refused(report, "dropout", lambda: train(ids), "dropout")
        refused(report, "float64", lambda: hf_models.make(
            "Llama", dtype=torch.float64)(ids), "float64")
        refused(report, "Falcon's linear biases", lambda: hf.AutoModelForCausalLM.from_config(
            hf.FalconConfig(**hf_models.BASE, alibi=True, multi_query=False),
            attn_implementation="heed")(ids), "differ on them")
        refused(report, "MPT, which inverts masks", lambda: hf.AutoModelForCausalLM.from_config(
            hf.MptConfig(vocab_size=97, d_model=64, n_heads=4, n_layers=1, max_seq_len=64),
            attn_implementation="heed")(ids), "wants 'eager'")
        refused(report, "BLOOM in a graph", lambda: torch.compile(
            bloom, backend="eager", fullgraph=True)(ids), "compute with them", (Exception,))
        config = copy.deepcopy(hf_models.CONFIGS["BLOOM"]())
        config._attn_implementation = "heed"
        refused(report, "BLOOM without the patch mapping",
                lambda: hf.BloomForCausalLM(config).eval()(ids), "wants 'eager'")
    refused(report, "a configuration that gives weights", lambda: setattr(
        model.config, "output_attentions", True), "eager", (ValueError,))


def calls(report):
    """What the function is given."""
    q, k, v = (torch.zeros(2, 4, 5, 8) for _ in range(3))
    attention, causal = heed.transformers.attention, Causal()
    mask = heed.transformers.mask(batch_size=2, q_length=5, kv_length=5)

    def given(module=causal, q=q, mask=mask, **more):
        return lambda: attention(module, q, k, v, mask, **more)

    def recorded(q):
        return attention(causal, q, k, v, mask)[0]

    refused(report, "an argument it does not know", given(cache=object()), "'cache'")
    refused(report, "lengths of packed sequences", given(cu_seq_lens_q=torch.zeros(2)),
            "'cu_seq_lens_q'")
    refused(report, "no mask of a causal module", given(mask=None), "no mask")
    refused(report, "a mask of other sizes", given(
        mask=heed.transformers.mask(batch_size=2, q_length=4, kv_length=5)), "4 queries")
    refused(report, "a mask of two axes", given(mask=torch.ones(2, 5)), "wants [items]")
    refused(report, "a mask of other keys", given(mask=torch.zeros(2, 1, 5, 6)), "wants [items]")
    refused(report, "a mask of integers", given(mask=torch.zeros(2, 1, 5, 5, dtype=torch.int32)),
            "int32")
    refused(report, "a bias of other sizes", given(position_bias=torch.zeros(1, 4, 5, 7)),
            "HEED_E_SHAPE", (heed.Error,))
    refused(report, "memory that is not the host's", given(q=q.to("meta")), "meta")
    refused(report, "negatives", given(q=torch._neg_view(q)), "negative")
    refused(report, "jit.trace", lambda: torch.jit.trace(recorded, (q,)), "no part of a trace",
            (Exception,))
    refused(report, "a pattern that enters a graph", lambda: torch.compile(
        recorded, backend="eager", fullgraph=True)(q), "none enters a graph", (Exception,))
    refused(report, "key heads that do not divide heads", given(q=torch.zeros(2, 3, 5, 8)),
            "HEED_E_SHAPE", (heed.Error,))
    sink = Causal()
    sink.sinks = torch.zeros(4)
    refused(report, "sinks that are not handed on", given(sink), "sinks")
    scaled = Causal()
    scaled.head_dim = 4
    refused(report, "no scale, and another head_dim", given(scaled), "scale")
    for name, operate in (("+", lambda: mask + 1.0), ("~", lambda: ~mask),
                          ("[]", lambda: mask[:, :, :1]), ("float()", mask.float),
                          ("to(bool)", lambda: mask.to(torch.bool)), ("all()", mask.all),
                          ("masked_fill", lambda: q.masked_fill(mask, 0.0))):
        refused(report, f"a mask's {name}", operate, "wants 'eager'")


def orders(report):
    """Registering twice, changing the implementation of a model, and threads."""
    heed.transformers.register()
    model = hf_models.make("Gemma 2")
    ids, there = hf_models.prompts(2, 19, "left")

    def generate(_=0):
        with torch.no_grad():
            return model.generate(ids, attention_mask=there, do_sample=False, max_new_tokens=12,
                                  min_new_tokens=12, pad_token_id=0)
    first, found = generate(), {}
    for kind in ("eager", "heed"):
        model.set_attn_implementation(kind)
        with hf_models.Counted() as counted:
            found[kind] = (torch.equal(generate(), first), counted.calls)
    report.add("set_attn_implementation", found == {"eager": (True, 0), "heed": (True, 24)},
               said=str(found))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        good = [torch.equal(one, first) for one in pool.map(generate, range(8))]
    report.add("threads", all(good), said=f"{sum(good)} of 8 results of 4 threads are the same")


if __name__ == "__main__":
    torch.set_num_threads(2)
    common.run([models, calls, orders])
