# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Greedy generation by transformers: the ids with heed are those with its eager attention, in
binary32, and every attention was heed's. No pair of ids comes twice, lest small models repeat a few
ids for ever."""

import functools

import heed.transformers
import torch

import common
import hf_models

NEW = 40
# Items, length of the prompts, padding, cache.
SETTINGS = [(1, 9, "", "dynamic"), (3, 31, "", "dynamic"), (3, 20, "left", "dynamic"),
            (2, 5, "", "static"), (3, 20, "left", "static"), (3, 20, "left", "growing")]


def generate(model, ids, there, cache, **more):
    """Ids of greedy search, or of beams. "growing" is heed's own cache; eager attention has that of
    transformers then."""
    if cache == "growing":
        config = model.config
        if config._attn_implementation == "heed" and not config.is_encoder_decoder:
            more.update(past_key_values=heed.transformers.GrowingCache(config))
    else:
        more.update(cache_implementation=cache)
    with torch.no_grad():
        return model.generate(
            ids, attention_mask=there, do_sample=False, max_new_tokens=NEW, min_new_tokens=NEW,
            no_repeat_ngram_size=2, pad_token_id=0, **more)


def few_plans(report):
    """With a GrowingCache a plan serves many tokens; with others each token wants one."""
    model, counts, here = hf_models.make("Llama"), {}, heed.transformers.here
    make, (ids, there) = here.make_plan, hf_models.prompts(2, 20, "left")
    for cache in ("dynamic", "growing"):
        here.plans.clear()
        made = []
        here.make_plan = lambda *given, made=made: made.append(given) or make(*given)
        try:
            generate(model, ids, there, cache)
        finally:
            del here.make_plan
        counts[cache] = len(made)
    report.add("plans of 40 tokens", counts == {"dynamic": NEW, "growing": 2}, said=str(counts))


def room(report):
    """Caches that are cut and sorted anew: beams, and tokens that were guessed from the prompt."""
    for name in ("Llama", "Mistral, windows", "Gemma 2"):
        models = [hf_models.make(name, kind) for kind in ("heed", "eager")]
        ids, there = hf_models.prompts(2, 20, "left")
        for how, more, items in (("3 beams", {"num_beams": 3}, 2),
                                 ("guesses", {"prompt_lookup_num_tokens": 3}, 1)):
            found = [generate(model, ids[:items], there[:items], "growing", **more)
                     for model in models]
            report.add(f"{name}: {how}, growing", torch.equal(*found),
                       said=f"{int((found[0] != found[1]).sum())} of {found[0].numel()} ids are "
                            "not eager's")
    cache = heed.transformers.GrowingCache(hf_models.make("Mistral, windows").config)
    layers, moved = cache.layers, 0
    for step in range(2000):
        fresh = torch.full((1, 2, 1, 4), float(step))
        before = layers[0].rows[0].memory
        keys, _ = cache.update(fresh, fresh, 0)
        moved += layers[0].rows[0].memory is not before
        right = torch.arange(max(0, step - hf_models.WINDOW + 1), step + 1.0)
        if not torch.equal(keys[0, 0, :, 0], right):
            report.add("a window that moves", False, said=f"wrong at step {step}: {keys[0, 0]}")
            return
    report.add("a window that moves", moved == 1, said=f"2000 tokens, memory made {moved} times")


def same_ids(name, report):
    models = [hf_models.make(name, kind) for kind in ("heed", "eager")]
    pair = name in hf_models.PAIRS
    for items, length, padded, cache in SETTINGS:
        ids, there = hf_models.prompts(items, length, "right" if pair and padded else padded)
        with hf_models.Counted() as counted:
            heeds = generate(models[0], ids, there, cache)
        eagers = generate(models[1], ids, there, cache)
        # Of a pair: both attentions of each layer for each token, and the encoder's once.
        wanted = 2 * NEW if not pair else 4 * NEW + 2
        new = heeds[:, -NEW:]
        good = torch.equal(heeds, eagers) and counted.calls == wanted and len(new.unique()) > 6
        report.add(f"{name}: {items} items, {padded or 'not'} padded, {cache}", good,
                   said=f"{new.numel()} ids, {len(new.unique())} different; "
                        f"{int((heeds != eagers).sum())} not eager's; heed computed "
                        f"{counted.calls} of {wanted} attentions")


if __name__ == "__main__":
    torch.set_num_threads(2)
    common.run([functools.partial(same_ids, name)
                for name in [*hf_models.DECODERS, *hf_models.PAIRS]] + [few_plans, room])
