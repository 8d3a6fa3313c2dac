# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Longformer, LED, BigBird and Pegasus-X of transformers beside heed."""

import heed
import numpy as np
import torch
from transformers import BigBirdConfig, LEDConfig, LongformerConfig, PegasusXConfig
from transformers.models.big_bird.modeling_big_bird import (BigBirdBlockSparseAttention,
                                                            BigBirdModel)
from transformers.models.led.modeling_led import LEDEncoderSelfAttention
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXEncoderLayer

from common import HEADS, ITEMS, both, bound_of, draw, heads_of, randomize, run

DIM = 16
WIDTH = HEADS * DIM
# Hidden states may be large or small: in the first case weights are few, in the second many.
SCALES = (0.5, 2.0)


def padded(n, lengths):
    """[B][n] of booleans."""
    return torch.arange(n)[None] < torch.tensor(lengths)[:, None]


def padded_list(lists):
    made = np.full((len(lists), 1, max(map(len, lists))), -1, "int32")
    for row, one in zip(made, lists):
        row[0, :len(one)] = one
    return made


def sliding(report, name, module, n, window, lengths, tokens, scale):
    """One of Longformer's kind. tokens: the global tokens of each item."""
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), padded(n, lengths)
    marks = torch.zeros(ITEMS, n)
    marks[~there] = -10000.0
    for b, one in enumerate(tokens):
        marks[b, one] = 10000.0
    some = any(tokens)
    names = ["query", "key", "value"] + (["query_global", "key_global", "value_global"] if some
                                         else [])

    def call(made, dtype):
        out = made(hidden.to(dtype), attention_mask=marks.to(dtype), is_index_masked=marks < 0,
                   is_index_global_attn=marks > 0, is_global_attn=some)
        return heads_of(out[0])

    narrow, exact, records = both(module, names, call)
    q, k, v = (heads_of(records[x][0].transpose(0, 1)) for x in names[:3])
    mask = there[:, None].to(torch.uint8)
    lists = padded_list(tokens) if some else None
    plan = heed.longformer.plan(q, heed.Keys(k, v, mask=mask), window=window,
                                globals=lists[:, 0] if some else None, flags="keys_only")
    o, bound = plan(), bound_of(plan)
    if some:
        kg, vg = (heads_of(records[x][0].transpose(0, 1)) for x in names[4:])
        qg = heads_of(records["query_global"][0].transpose(0, 1))
        rows = heed.global_rows.plan(qg, heed.Keys(kg, vg, mask=mask))
        heed.copy(rows(), o, to=lists)
        rows_bound = bound_of(rows)
        for b, one in enumerate(tokens):
            bound[b][:, one] = rows_bound[b][:, :len(one)]
    report.judge(f"{name} n={n} w={window} globals={sum(map(len, tokens))} x{scale}", o, exact,
                 narrow, bound, there)


def longformer(report):
    for window in (8, 32):
        config = LongformerConfig(hidden_size=WIDTH, num_attention_heads=HEADS,
                                  attention_window=[2 * window], attention_probs_dropout_prob=0.0)
        module = randomize(LongformerSelfAttention(config, 0))
        for scale in SCALES:
            for tokens in ([[], []], [[0], [0]], [[0, 5, 100], [17]]):
                sliding(report, "Longformer", module, 192, window, [192, 150], tokens, scale)


def led(report):
    config = LEDConfig(d_model=WIDTH, encoder_attention_heads=HEADS, attention_window=[32],
                       attention_dropout=0.0)
    module = randomize(LEDEncoderSelfAttention(config, 0))
    for scale in SCALES:
        for tokens in ([[0], [0]], [[3, 4], [0, 60, 61]]):
            sliding(report, "LED", module, 160, 16, [160, 97], tokens, scale)


def other_windows_are_noticed(report):
    """The bound is not so wide that one key more or less would pass."""
    quiet = type(report)()
    quiet.add = lambda name, good, **what: quiet.lines.append(good)
    config = LongformerConfig(hidden_size=WIDTH, num_attention_heads=HEADS, attention_window=[64],
                              attention_probs_dropout_prob=0.0)
    module = randomize(LongformerSelfAttention(config, 0))
    for window in (31, 33):
        sliding(quiet, "", module, 192, window, [192, 150], [[], []], 0.5)
    report.add("Longformer, one key more or less", not any(quiet.lines) and len(quiet.lines) == 2,
               said="is outside the bound")


def masked_queries(report):
    """A real row whose own key is masked: zero in the module, computed in heed."""
    config = LongformerConfig(hidden_size=WIDTH, num_attention_heads=HEADS, attention_window=[16],
                              attention_probs_dropout_prob=0.0)
    module, hidden = randomize(LongformerSelfAttention(config, 0)), draw(ITEMS, 64, WIDTH)
    marks = torch.zeros(ITEMS, 64)
    marks[:, 20] = -10000.0
    narrow, _, records = both(module, ["query", "key", "value"], lambda made, dtype: heads_of(made(
        hidden.to(dtype), attention_mask=marks.to(dtype), is_index_masked=marks < 0,
        is_index_global_attn=marks > 0, is_global_attn=False)[0]))
    q, k, v = (heads_of(records[x][0].transpose(0, 1)) for x in ("query", "key", "value"))
    o = heed.longformer(q, heed.Keys(k, v, mask=(marks == 0)[:, None].to(torch.uint8)), window=8)
    report.disagree("Longformer, a masked row inside", not narrow[:, :, 20].any()
                    and bool((o[:, :, 20] != 0).all()), "0 in the module, computed in heed")


def bigbird(report, n, train, lengths, scale, random_blocks):
    config = BigBirdConfig(hidden_size=WIDTH, num_attention_heads=HEADS, block_size=16,
                           num_random_blocks=random_blocks, max_position_embeddings=n,
                           attention_probs_dropout_prob=0.0, use_bias=True)
    module = randomize(BigBirdBlockSparseAttention(config, seed=3)).train(train)
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), padded(n, lengths)
    lists = []

    def call(made, dtype):
        blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(
            there.to(dtype), 16)
        draws = made._bigbird_block_rand_mask_with_head

        def recorded(**keywords):
            lists.append(np.stack(draws(**keywords)))
            return lists[-1]
        made.__dict__["_bigbird_block_rand_mask_with_head"] = recorded
        out = made(hidden.to(dtype), band, rows, columns, blocked, blocked)[0]
        del made.__dict__["_bigbird_block_rand_mask_with_head"]
        return heads_of(out)

    narrow, exact, records = both(module, ["query", "key", "value"], call)
    q, k, v = (heads_of(records[x][0]) for x in ("query", "key", "value"))
    random = np.full((1, HEADS, n // 16, random_blocks), -1, "int32")
    random[0, :, 1:-1] = lists[0]
    plan = heed.bigbird.plan(q, heed.Keys(k, v, mask=there[:, None].to(torch.uint8)), block=16,
                             random=random)
    report.judge(f"BigBird n={n} {'drawn' if train else 'eval'} r={random_blocks} x{scale}", plan(),
                 exact, narrow, bound_of(plan), there)
    if not np.array_equal(*lists[:2]):
        report.add("BigBird's lists", False, said="the two runs drew other blocks")


def ragged(report):
    """heed takes a text of 150 tokens as it is, where the module has it padded to 192."""
    config = LongformerConfig(hidden_size=WIDTH, num_attention_heads=HEADS, attention_window=[64],
                              attention_probs_dropout_prob=0.0)
    module = randomize(LongformerSelfAttention(config, 0))
    hidden, marks = draw(ITEMS, 192, WIDTH), torch.zeros(ITEMS, 192)
    marks[:, 150:] = -10000.0
    narrow, exact, records = both(module, ["query", "key", "value"], lambda made, dtype: heads_of(
        made(hidden.to(dtype), marks.to(dtype), marks < 0, marks > 0, False)[0]))
    q, k, v = (heads_of(records[x][0].transpose(0, 1))[:, :, :150]
               for x in ("query", "key", "value"))
    plan = heed.longformer.plan(q, (k, v), window=32)
    report.judge("Longformer n=150, padded to 192", plan(), exact[:, :, :150], narrow[:, :, :150],
                 bound_of(plan))


def bigbirds(report):
    for scale in SCALES:
        bigbird(report, 256, False, [256, 200], scale, 3)
        bigbird(report, 256, True, [256, 230], scale, 3)
        bigbird(report, 320, True, [320, 310], scale, 2)


def pegasus_x(report, n, staggered, lengths, globals_, scale):
    config = PegasusXConfig(d_model=WIDTH, encoder_attention_heads=HEADS, block_size=32,
                            attention_dropout=0.0, encoder_ffn_dim=8)
    layer = randomize(PegasusXEncoderLayer(staggered, config))
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), padded(n, lengths)
    more = draw(ITEMS, globals_, WIDTH, seed=5, scale=scale)

    def call(made, dtype):
        mask = torch.zeros(ITEMS, n, dtype=dtype).masked_fill(~there, torch.finfo(dtype).min)
        states = hidden.to(dtype)
        if staggered:
            states, mask = layer.pad_local_tokens(states, mask, 32)
        text, rows, _ = made(states, more.to(dtype), mask)
        text = layer.unpad_local_tokens(text, 32) if staggered else text
        return torch.cat([heads_of(text), heads_of(rows)], 2)

    layer.self_attn.out_proj = torch.nn.Identity()
    narrow, exact, records = both(layer.self_attn, ["q_proj", "k_proj", "v_proj"], call)
    cut = slice(16, -16) if staggered else slice(None)
    q, k, v = (heads_of(records[x][0])[:, :, cut] for x in ("q_proj", "k_proj", "v_proj"))
    qg, kg, vg = (heads_of(records[x][1]) for x in ("q_proj", "k_proj", "v_proj"))
    text = heed.Keys(k, v, mask=there[:, None].to(torch.uint8))
    name = f"Pegasus-X n={n} {'staggered ' if staggered else ''}globals={globals_} x{scale}"
    plan = heed.pegasus_x.plan(q, text, globals=(kg, vg), block=32,
                               flags="staggered" if staggered else 0)
    report.judge(name, plan(), exact[:, :, :n], narrow[:, :, :n], bound_of(plan), there)
    plan = heed.global_rows.plan(qg, text, globals=(kg, vg))
    report.judge(name + ", rows", plan(), exact[:, :, n:], narrow[:, :, n:], bound_of(plan))


def pegasus_xs(report):
    for scale in SCALES:
        for staggered in (False, True):
            pegasus_x(report, 192, staggered, [192, 100], 5, scale)
            pegasus_x(report, 96, staggered, [70, 96], 1, scale)


if __name__ == "__main__":
    run([longformer, led, other_windows_are_noticed, masked_queries, ragged, bigbirds, pegasus_xs])
