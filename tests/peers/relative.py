# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""LongT5 and DeBERTa of transformers beside heed: scores with relative positions."""

import heed
import numpy as np
import torch
from transformers import DebertaConfig, DebertaV2Config, LongT5Config
from transformers.models.deberta import modeling_deberta as deberta_1
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta_2
from transformers.models.longt5 import modeling_longt5 as longt5

from common import HEADS, ITEMS, both, bound_of, draw, heads_of, randomize, run

DIM, SIDE = 16, 16
WIDTH = HEADS * DIM
ZERO = 256
MAP = heed.map_t5(2 * ZERO + 1, ZERO, 32, 128)


def lengths_mask(n, lengths):
    return torch.arange(n)[None] < torch.tensor(lengths)[:, None]


def buckets_agree(report):
    """The module's own buckets, in binary32, beside heed_map_t5."""
    far = torch.arange(-ZERO, ZERO + 1)
    theirs = longt5.LongT5LocalAttention._relative_position_bucket(far).numpy()
    report.add("LongT5, buckets", np.array_equal(theirs, MAP),
               said=f"{len(MAP)} distances, {int((theirs != MAP).sum())} differ")


def t5_bias(tables, n, sides, ids):
    """biases of bound_of: what the tables add to the scores of text and side."""
    i, j = np.ogrid[:n, :n]
    text = MAP[np.clip(j - i + ZERO, 0, 2 * ZERO)]

    def of(b, h):
        parts = [tables[0][h][text]]
        if sides:
            parts.append(tables[1][h][MAP[np.arange(sides)[None] - ids[b][:, None] + ZERO]])
        total = np.concatenate(parts, 1).astype("float64")
        return total, abs(total)
    return of


def longt5_case(report, n, lengths, scale, transient):
    config = LongT5Config(d_model=WIDTH, d_kv=DIM, num_heads=HEADS, local_radius=20, dropout_rate=0,
                          global_block_size=SIDE, is_decoder=False)
    kind = longt5.LongT5TransientGlobalAttention if transient else longt5.LongT5LocalAttention
    module = randomize(kind(config, has_relative_attention_bias=True))
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), lengths_mask(n, lengths)
    for name in "qk":       # scores are not divided by anything
        getattr(module, name).weight.data *= 0.4

    def call(made, dtype):
        mask = there.to(dtype) if transient else longt5._get_local_attention_mask(
            there.to(dtype), 21, hidden.device)
        return heads_of(made(hidden.to(dtype), mask)[0])

    module.o = torch.nn.Identity()
    narrow, exact, records = both(module, ["q", "k", "v"], call)
    q, k, v = (heads_of(records[x][0]) for x in "qkv")
    tables = [module.relative_attention_bias.weight.detach().T]
    more, sides, ids = {}, 0, None
    if transient:
        tables.append(module.global_relative_attention_bias.weight.detach().T)
        sides = n // SIDE
        blocks = np.array([[length // SIDE] for length in lengths], "int32")
        ids = np.minimum(np.arange(n) // SIDE, blocks - 1).astype("int32")
        more = {"side": heed.Keys(heads_of(records["k"][1]), heads_of(records["v"][1]),
                                  len=blocks[:, 0]),
                "side_table": tables[1], "block_ids": ids}
    plan = heed.longt5.plan(q, heed.Keys(k, v, len=np.array(lengths)), table=tables[0], map=MAP,
                            radius=20, zero=ZERO, **more)
    bound = bound_of(plan, t5_bias([t.numpy() for t in tables], n, sides, ids))
    report.judge(f"LongT5 {'transient-global' if transient else 'local'} n={n} x{scale}", plan(),
                 exact, narrow, bound, there)


def longt5s(report):
    for transient in (False, True):
        for scale in (0.5, 1.5):
            longt5_case(report, 128, [128, 96], scale, transient)
            longt5_case(report, 130, [130, 75], scale, transient)
            longt5_case(report, 12, [12, 9], scale, transient)


def deberta_bias(q, k, kr, qr, index, scale):
    """biases of bound_of: the products with the tables, and the magnitudes that went into them."""
    def of(b, h):
        total, size = 0, 0
        for rows, rows_of, swap in ((kr, q, False), (qr, k, True)):
            if rows is None:
                continue
            products, sizes = (f(rows_of[b, h]) @ f(rows[h]).T for f in (lambda x: x, np.abs))
            i, j = np.indices(index.shape)
            at = (j if swap else i, index)
            total, size = total + products[at] * scale, size + sizes[at] * scale * (DIM + 6) / 6
        return (total, size) if kr is not None or qr is not None else (None, None)
    return of


def deberta_judge(report, name, n, there, records, kinds, map_, zero, index, runs):
    q, k, v, kr, qr = records
    t = 1 + len(kinds)
    plan = heed.deberta.plan(q, heed.Keys(k, v, len=there.sum(1).numpy()), kr=kr, qr=qr, map=map_,
                             zero=zero)
    wide = [None if x is None else np.asarray(x, "float64") for x in (q, k, kr, qr)]
    bound = bound_of(plan, deberta_bias(*wide, index, 1 / np.sqrt(t * DIM)))
    report.judge(name, plan(), runs[1], runs[0], bound, there)


def deberta(report, n, lengths, kinds, scale, reach):
    """Version 1: distances are clamped, and the tables grow with row - key."""
    config = DebertaConfig(hidden_size=WIDTH, num_attention_heads=HEADS, pos_att_type=kinds,
                           relative_attention=True, max_relative_positions=reach,
                           hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    module = randomize(deberta_1.DisentangledSelfAttention(config))
    with torch.no_grad():
        module.q_bias.zero_()
        module.v_bias.zero_()
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), lengths_mask(n, lengths)
    embeddings = draw(2 * reach, WIDTH, seed=9, scale=scale)
    mask = (there[:, None, :] & there[:, :, None])[:, None]
    names = ["in_proj"] + [{"c2p": "pos_proj", "p2c": "pos_q_proj"}[kind] for kind in kinds]

    def call(made, dtype):
        positions = deberta_1.build_relative_position(hidden, hidden)
        return heads_of(made(hidden.to(dtype), mask, relative_pos=positions,
                             rel_embeddings=embeddings.to(dtype))[0])

    *runs, records = both(module, names, call)
    q, k, v = records["in_proj"][0].view(ITEMS, n, HEADS, 3 * DIM).transpose(1, 2).chunk(3, -1)
    span = min(n, reach)
    # The last row first: heed's tables grow with key - row.
    kr, qr = (heads_of(records[x][0], 1)[0].flip(1) if x in records else None
              for x in ("pos_proj", "pos_q_proj"))
    i, j = np.ogrid[:n, :n]
    index = np.clip(j - i + span - 1, 0, 2 * span - 1)
    deberta_judge(report, f"DeBERTa {'+'.join(kinds) or 'content'} n={n} reach={reach} x{scale}", n,
                  there, (q, k, v, kr, qr), kinds, None, span - 1, index, runs)


def deberta_v2(report, n, lengths, kinds, scale, buckets, reach, share):
    """Version 2: logarithmic buckets."""
    config = DebertaV2Config(hidden_size=WIDTH, num_attention_heads=HEADS, pos_att_type=kinds,
                             relative_attention=True, max_relative_positions=reach,
                             position_buckets=buckets, share_att_key=share,
                             hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    module = randomize(deberta_2.DisentangledSelfAttention(config))
    hidden, there = draw(ITEMS, n, WIDTH, scale=scale), lengths_mask(n, lengths)
    embeddings = draw(2 * buckets, WIDTH, seed=9, scale=scale)
    mask = (there[:, None, :] & there[:, :, None])[:, None]
    names = ["query_proj", "key_proj", "value_proj"]
    if not share:
        names += [{"c2p": "pos_key_proj", "p2c": "pos_query_proj"}[kind] for kind in kinds]

    def call(made, dtype):
        return heads_of(made(hidden.to(dtype), mask, rel_embeddings=embeddings.to(dtype))[0])

    *runs, records = both(module, names, call)
    q, k, v = (heads_of(records[x][0]) for x in names[:3])
    tables = {"c2p": records["key_proj"][1:] if share else records.get("pos_key_proj"),
              "p2c": records["query_proj"][1:] if share else records.get("pos_query_proj")}
    kr, qr = (heads_of(tables[kind][0], 1)[0] if kind in kinds else None
              for kind in ("c2p", "p2c"))
    map_ = heed.map_log(2 * n + 1, n, buckets, reach, reverse=True)
    i, j = np.ogrid[:n, :n]
    name = f"DeBERTa-v2 {'+'.join(kinds) or 'content'} n={n} buckets={buckets} x{scale}"
    deberta_judge(report, name, n, there, (q, k, v, kr, qr), kinds, map_ if kinds else None,
                  n if kinds else 0, map_[j - i + n], runs)


def no_key_left(report):
    """A text of no token: the module gives the mean of what is masked, heed gives 0."""
    config = DebertaV2Config(hidden_size=WIDTH, num_attention_heads=HEADS, pos_att_type=[],
                             relative_attention=False, attention_probs_dropout_prob=0)
    module, hidden = randomize(deberta_2.DisentangledSelfAttention(config)), draw(ITEMS, 40, WIDTH)
    mask = lengths_mask(40, [40, 0])[:, None, None].expand(-1, 1, 40, -1)
    names = ["query_proj", "key_proj", "value_proj"]
    narrow, _, records = both(module, names, lambda made, dtype: heads_of(
        made(hidden.to(dtype), mask)[0]))
    q, k, v = (heads_of(records[x][0]) for x in names)
    o = heed.attention(q, k, v, len=[40, 0])
    mean = np.allclose(narrow[1], v[1].mean(1, keepdim=True).expand_as(v[1]), atol=1e-5)
    report.disagree("no key left", bool(mean and not o[1].any()),
                    "the mean of masked values in the module, 0 in heed")


def debertas(report):
    for scale in (0.5, 1.5):
        for kinds in ([], ["c2p"], ["p2c"], ["c2p", "p2c"]):
            deberta(report, 96, [96, 70], kinds, scale, 128)
            deberta(report, 96, [96, 70], kinds, scale, 20)
            if kinds:
                deberta_v2(report, 96, [96, 70], kinds, scale, 16, 64, False)
        deberta_v2(report, 150, [150, 70], ["c2p", "p2c"], scale, 32, 128, True)


def log_buckets_agree(report):
    worst = 0
    for buckets, reach in ((16, 64), (32, 128), (256, 512)):
        n = 2 * reach
        theirs = deberta_2.make_log_bucket_position(torch.arange(-n, n + 1), buckets, reach)
        theirs = torch.clamp(theirs.long() + buckets, 0, 2 * buckets - 1).numpy()
        ours = heed.map_log(2 * n + 1, n, buckets, reach)
        worst += int((theirs != ours).sum())
    report.add("DeBERTa-v2, buckets", worst == 0, said=f"{worst} of three tables differ")


if __name__ == "__main__":
    run([buckets_agree, longt5s, log_buckets_agree, debertas, no_key_left])
