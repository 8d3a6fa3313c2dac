# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Greedy generation by transformers: the ids with heed are those with its eager attention, in
binary32, and every attention was heed's. No pair of ids comes twice, lest small models repeat a few
ids for ever."""

import functools

import torch

import common
import hf_models

NEW = 40
# Items, length of the prompts, padding, cache.
SETTINGS = [(1, 9, "", "dynamic"), (3, 31, "", "dynamic"), (3, 20, "left", "dynamic"),
            (2, 5, "", "static"), (3, 20, "left", "static")]


def generate(model, ids, there, cache):
    with torch.no_grad():
        return model.generate(
            ids, attention_mask=there, do_sample=False, max_new_tokens=NEW, min_new_tokens=NEW,
            no_repeat_ngram_size=2, pad_token_id=0, cache_implementation=cache)


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
                for name in [*hf_models.DECODERS, *hf_models.PAIRS]])
