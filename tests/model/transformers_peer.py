#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that transformers wrote: heed beside transformers and torch in binary64.

transformers_peer.py HEED-MODEL [SEEDS]: random checkpoints of every variant of a family, in f32, f16
and bf16; states and logits within the bound of oracle.py, ids equal for greedy search and 5 beams
where the search is decided. The oracle itself is held against transformers: both are binary64, so
they differ by 2^-29 of what heed may be off by; 2^-20 leaves the functions of torch 500 units in the
last place. Families whose norms, weights or scales transformers computes in binary32, whatever the type of
the model, are held to the bound that heed has. Exit status 77 where there is no torch or no
transformers.
"""

import os
import shutil
import sys
import warnings

try:
    import torch
    import transformers
except ImportError:
    print("skipped: torch and transformers are not installed")
    sys.exit(77)

import running
import numpy
import checkpoints
import oracle
import states
import tape

VOCAB = 60
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 48,
        "max_position_embeddings": 128, "init_std": 0.3}
LED = {key: value for key, value in BART.items() if key != "max_position_embeddings"} | {
    "max_encoder_position_embeddings": 128, "max_decoder_position_embeddings": 64,
    "attention_window": [16, 8]}
T5 = {"d_model": 32, "d_kv": 12, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2,
      "num_heads": 4, "decoder_start_token_id": 0, "initializer_factor": 2.0}
BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 130, "initializer_range": 0.3}
DEBERTA = BERT | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"],
                  "max_relative_positions": 64}
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
MAKERS = {
    "bart": ("Bart", BART), "mbart": ("MBart", BART | {"scale_embedding": True,
                                                       "decoder_start_token_id": 2}),
    "led": ("LED", LED), "pegasus": ("Pegasus", BART), "t5": ("T5", T5),
    "t5-gated": ("T5", T5 | GATED), "longt5": ("LongT5", T5 | {"local_radius": 15}),
    "longt5-global": ("LongT5", T5 | GATED | {"local_radius": 7,
                                              "encoder_attention_type": "transient-global"}),
    "bert": ("Bert", BERT), "roberta": ("Roberta", BERT | {"type_vocab_size": 1}),
    "longformer": ("Longformer", BERT | {"type_vocab_size": 1, "attention_window": [8, 16]}),
    "pegasus_x": ("PegasusX", BART | {"encoder_layers": 3, "num_global_tokens": 5,
                                      "block_size": 16}),
    "big_bird": ("BigBird", BERT | {"block_size": 4, "num_random_blocks": 2}),
    "bigbird_pegasus": ("BigBirdPegasus", BART | {"block_size": 4, "num_random_blocks": 1}),
    "deberta-v2": ("DebertaV2", DEBERTA | {
        "type_vocab_size": 0, "position_buckets": 8, "norm_rel_ebd": "layer_norm",
        "share_att_key": True, "position_biased_input": False}),
    "deberta-v2-apart": ("DebertaV2", DEBERTA | {"type_vocab_size": 2}),
}
IN_BINARY32 = ("t5", "longt5", "led", "longformer", "deberta-v2")
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SEARCHES = [({"beams": 1, "max_length": 24}, {}),
            ({"beams": 5, "max_length": 24, "no_repeat": 3, "length_penalty": 2.0, "min_length": 8,
              "stopping": True},
             {"no_repeat_ngram_size": 3, "length_penalty": 2.0, "min_length": 8,
              "early_stopping": True})]


def make(variant, seed, dtype):
    """A random model; its vectors are not all ones and zeros."""
    name, options = MAKERS[variant]
    torch.manual_seed(seed)
    config = getattr(transformers, name + "Config")(vocab_size=VOCAB, **options)
    kind = name + ("Model" if checkpoints.family_of(variant) in checkpoints.ENCODERS else "ForConditionalGeneration")
    model = getattr(transformers, kind)(config).eval()
    for p in model.parameters():
        if p.ndim == 1:
            p.data += 0.1 * torch.randn_like(p)
    return model.to(dtype)


def inputs_of(variant, ids):
    """What transformers wants of a text; the first token of windows is a global one."""
    text = torch.tensor([ids])
    given = {"attention_mask": torch.ones_like(text)}
    if variant in ("led", "longformer"):
        given["global_attention_mask"] = torch.zeros_like(text)
        given["global_attention_mask"][0, 0] = 1
    return text, given


class Peer(states.Judge):
    """Three answers to the same question."""

    apart = 0.0

    def three(self, what, got, other, want, bound):
        """heed's, that of transformers, the oracle's."""
        share = 1 if checkpoints.family_of(what.split(",")[0]) in IN_BINARY32 else 2.0 ** -20
        self.compare(what + ", against transformers", got, other, bound * (1 + share))
        self.compare(what, got, want, bound)
        self.apart = max(self.apart, (abs(other - want) / bound / share).max())
        if not (abs(other - want) <= bound * share).all():
            self.fail(f"{what}: the oracle and transformers are {abs(other - want).max():.3g} "
                      "apart")

    def one(self, variant, seed, dtype, folder):
        """One checkpoint."""
        what = f"{variant}, seed {seed}, {dtype}"
        random = numpy.random.default_rng(seed)
        ids, following = states.text(random, 60, VOCAB), states.text(random, 7, VOCAB)[1:]
        made = make(variant, seed, TYPES[dtype])
        made.save_pretrained(folder)
        double = made.double()
        text, given = inputs_of(variant, ids)
        model = oracle.Model(*checkpoints.read(folder))
        t = tape.Tape()
        x = model.encode(t, ids)
        rows = slice(0, None, 7)            # bounds of all of them take long
        encoder = double if checkpoints.family_of(variant) in checkpoints.ENCODERS else double.get_encoder()
        other = encoder(input_ids=text, **given).last_hidden_state[0].numpy()
        self.three(what + ": states", self.program.states(folder, ids)[rows], other[:60][rows],
                   x.value[rows], t.bound(x, rows))
        if checkpoints.family_of(variant) in checkpoints.ENCODERS:
            return
        following = [model.settings["start"], *following]
        want, bound = model.logits(ids, following)
        other = double(input_ids=text, decoder_input_ids=torch.tensor([following]),
                       **given).logits[0].numpy()
        self.three(what + ": logits", self.program.logits(folder, ids, following), other, want,
                   bound)
        for options, words in SEARCHES:
            want = double.generate(text, num_beams=options["beams"], do_sample=False,
                                   max_length=options["max_length"], **words, **given)[0].tolist()
            self.ids(what, folder, model, ids, options, want)

    def ids(self, what, folder, model, ids, options, want):
        """Those of transformers, of the oracle, and heed's."""
        got = self.program.generate(folder, ids, options)
        search = oracle.Search(model, ids, options)
        own = search.run()
        self.searches += 1
        if got == want == own:
            return
        reason = states.undecided(search)
        if reason:
            self.open += 1
        else:
            self.fail(f"{what}: {options}: transformers {want} oracle {own} heed {got}")


def main():
    """The exit status."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    peer, folder = Peer(running.Program(sys.argv[1])), running.scratch()
    try:
        if {checkpoints.family_of(v) for v in MAKERS} != set(checkpoints.FAMILIES):
            peer.fail("a family is missing here")
        for variant in MAKERS:
            for dtype in TYPES:
                for seed in range(seeds):
                    peer.one(variant, seed, dtype, folder / "one")
                    shutil.rmtree(folder / "one")
            print(f"{variant}: error/bound so far {peer.worst:.3g}, of transformers and the oracle "
                  f"{peer.apart:.3g}; {peer.searches} searches, {peer.open} not decided, "
                  f"{peer.failures} failures", flush=True)
    finally:
        shutil.rmtree(folder)
    return peer.report()


if __name__ == "__main__":
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
    sys.exit(main())
