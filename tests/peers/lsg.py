# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""LSG of lsg-converter beside heed: sparse keys by place, by norm, pooled and hashed.

A program has no table of what its rows see. So its stages are called one by one, which must give
its very bits, and the bound is that of the last stage, with the errors of the keys that it reads.
"""

import heed
import numpy as np
import torch
from lsg_converter.bert.modeling_lsg_bert import LSGBertConfig, LSGSelfAttention

import oracle
from common import HEADS, ITEMS, both, bound_of, draw, heads_of, pick, randomize, run

DIM = 16
WIDTH = HEADS * DIM
N, BLOCK, FACTOR, GLOBALS = 160, 16, 4, 2
PER_BLOCK = BLOCK // FACTOR


class Case:
    """One kind of sparse keys, one text: the module's results and the arrays that heed gets."""

    def __init__(self, kind, lengths, scale, sparse=BLOCK, causal=False, rounds=1, factor=FACTOR):
        self.kind, self.sparse, self.flags = kind, sparse, "causal" if causal else 0
        config = LSGBertConfig(
            hidden_size=WIDTH, num_attention_heads=HEADS, attention_probs_dropout_prob=0.0,
            block_size=BLOCK, sparse_block_size=sparse, sparsity_factor=factor, sparsity_type=kind,
            num_global_tokens=GLOBALS, lsh_num_pre_rounds=rounds, is_decoder=causal)
        module = randomize(LSGSelfAttention(config))
        hidden = draw(ITEMS, GLOBALS + N, WIDTH, scale=scale)
        self.there = torch.arange(N)[None] < torch.tensor(lengths)[:, None]
        unit = min(BLOCK, sparse)
        columns = [unit // 2] * rounds + [unit // factor // 2]
        self.rounds = [draw(1, HEADS, 1, DIM, m, seed=30 + i) for i, m in enumerate(columns)]

        def call(made, dtype):
            mask = torch.zeros(ITEMS, N, dtype=dtype).masked_fill(~self.there,
                                                                  torch.finfo(dtype).min)
            given, draws = iter(self.rounds), torch.randn
            torch.randn = lambda *_, **__: next(given).to(dtype)
            try:
                return heads_of(made(hidden.to(dtype), mask[:, None, None])[0])
            finally:
                torch.randn = draws

        self.narrow, self.exact, records = both(module, ["query", "key", "value"], call)
        q, k, v = (heads_of(records[x][0]) for x in ("query", "key", "value"))
        self.q_rows, self.q = q[:, :, :GLOBALS], q[:, :, GLOBALS:]
        self.k, self.v = k[:, :, GLOBALS:], v[:, :, GLOBALS:]
        self.mask = self.there[:, None].to(torch.uint8)
        self.text = heed.Keys(self.k, self.v, mask=self.mask)
        self.globals = (k[:, :, :GLOBALS], v[:, :, :GLOBALS])
        self.name = (f"LSG {kind} lengths={lengths} s={sparse} {'causal ' if causal else ''}"
                     f"x{scale}")

    def judge(self, report, o, bound, rows=None):
        report.judge(self.name, o, self.exact[:, :, -N:], self.narrow[:, :, -N:], bound,
                     self.there if rows is None else rows)

    def program(self, **more):
        return heed.lsg_program(self.q, self.text, globals=self.globals, sparsity=self.kind,
                                block=BLOCK, factor=FACTOR, sparse_block=self.sparse,
                                flags=self.flags, **more)

    def attend(self, before, after=()):
        """The plan of the last stage: globals, sparse keys, the text."""
        near = heed.Source(self.k, self.v, [heed.window(BLOCK, block=BLOCK)], mask=self.mask,
                           causal=bool(self.flags))
        return heed.attention.plan(self.q, sources=[heed.Source(*self.globals), *before, near,
                                                    *after], align="start")

    def same_bits(self, report, plan, o):
        if not torch.equal(plan(), o):
            report.add(self.name, False, said="the program has not the bits of its stages")

    def pooled(self, keys, there):
        """The sources of computed keys: before block B - 1, and after block B + 1."""
        s = self.sparse
        terms = [heed.window(BLOCK + s * FACTOR, -2 * BLOCK, block=BLOCK)]
        if not self.flags:
            terms.append(heed.window(-2 * BLOCK, BLOCK + 1 + (s - 1) * FACTOR, block=BLOCK))
        return heed.Source(*keys, terms, pos_step=FACTOR, mask=there)

    def made(self, k_made, v_made):
        """For bound_of: what the keys and values of the sources are off by, in units."""
        def of(b, h):
            ends = np.zeros((self.globals[0].shape[2], DIM)), np.zeros((N, DIM))
            return tuple(np.concatenate([ends[0], pick(x, b, h, HEADS), ends[1]])
                         for x in (k_made, v_made))
        return of


def by_place(report):
    for kind in ("none", "stride", "block_stride"):
        for scale in (0.5, 2.0):
            for causal in (False, True):
                case = Case(kind, [N, 120], scale, causal=causal)
                plan = heed.lsg.plan(case.q, case.text, globals=case.globals, sparsity=kind,
                                     block=BLOCK, factor=FACTOR, flags=case.flags)
                case.judge(report, plan(), bound_of(plan))
    case = Case("stride", [N, 75], 1.0, sparse=8)
    plan = heed.lsg.plan(case.q, case.text, globals=case.globals, sparsity="stride", block=BLOCK,
                         factor=FACTOR, sparse_block=8)
    case.judge(report, plan(), bound_of(plan))


def one_sparse_key_a_block(report):
    """c = 1: the module's right-hand sparse keys begin two blocks too early, so that rows see some
    of them twice. The same, stated by windows, is what it computes."""
    case = Case("stride", [N, N], 1.0, factor=BLOCK)
    plan = heed.lsg.plan(case.q, case.text, globals=case.globals, sparsity="stride", block=BLOCK,
                         factor=BLOCK)
    bound, exact = bound_of(plan), np.asarray(case.exact[:, :, GLOBALS:])
    off = (abs(np.asarray(plan()) - exact) / bound).max((0, 1, 3))
    every, reach = dict(block=BLOCK, step=BLOCK, by_head=True), BLOCK * BLOCK
    early = case.attend([heed.Source(case.k, case.v, [heed.window(*sides, **every)])
                         for sides in ((BLOCK + reach, -2 * BLOCK), (0, reach - BLOCK))])
    same = oracle.off_by(early(), exact, bound_of(early))
    report.disagree("LSG stride, c = 1", bool((off > 1).all()) and same < 1,
                    f"early by two blocks the error over the bound is {same:.3f}")


def rows_of_globals(report):
    case = Case("none", [N, 120], 1.0)
    plan = heed.global_rows.plan(case.q_rows, case.text, globals=case.globals)
    report.judge("LSG rows of globals", plan(), case.exact[:, :, :GLOBALS],
                 case.narrow[:, :, :GLOBALS], bound_of(plan))


def norm_case(report, case):
    unit, s, nb = min(BLOCK, case.sparse), case.sparse, N // BLOCK
    chosen = heed.select(case.k, kind="norm", block=unit, count=unit // FACTOR, mask=case.mask,
                         pad_front=PER_BLOCK + s,
                         pad_back=(nb + 1) * PER_BLOCK + s - N // FACTOR)
    sides = [chosen.as_strided((ITEMS, HEADS, nb, s), (*chosen.stride()[:2], PER_BLOCK, 1), at)
             for at in (0, 3 * PER_BLOCK + s)]
    plan = case.attend([heed.Source(case.k, case.v, layout="listed", slot=side, run=1, rows=BLOCK)
                        for side in sides[:1 if case.flags else 2]])
    o = case.program()
    case.same_bits(report, plan, o)
    case.judge(report, o, bound_of(plan))


def norm(report):
    for scale in (0.5, 2.0):
        norm_case(report, Case("norm", [N, 120], scale))
        norm_case(report, Case("norm", [N, 75], scale, sparse=8))
        norm_case(report, Case("norm", [N, 120], scale, causal=True))


# The module divides by count + 1e-6, or + 1e-8: what that is in units of binary32, of one token.
EPSILON = {"pooling": 1e-6 / oracle.UNIT, "lsh": 1e-8 / oracle.UNIT}


def pooling_stages(case):
    """The last stage of POOLING, and the bound of the results."""
    there = np.empty((ITEMS, 1, N // FACTOR), "uint8")
    how = dict(kind="mean", kernel=FACTOR, stride=FACTOR, tail="ceil", mask=case.mask)
    k, there = heed.pool(case.k, y_mask=there, **how)
    v = heed.pool(case.v, **how)
    sizes = [np.asarray(heed.pool(abs(x), **how)) * (FACTOR + 3 + EPSILON["pooling"])
             for x in (case.k, case.v)]
    plan = case.attend([case.pooled((k, v), there)])
    return plan, bound_of(plan, made=case.made(*sizes))


def pooling(report):
    for scale in (0.5, 2.0):
        for causal in (False, True):
            case = Case("pooling", [N, 117], scale, causal=causal)
            (plan, bound), o = pooling_stages(case), case.program()
            case.same_bits(report, plan, o)
            case.judge(report, o, bound)


def lsh(report):
    for scale in (0.5, 2.0):
        for rounds, sparse in ((0, BLOCK), (1, BLOCK), (1, 8)):
            case = Case("lsh", [N, 117], scale, rounds=rounds, sparse=sparse)
            unit = min(BLOCK, sparse)
            if unit // FACTOR < 2:
                continue
            matrices = [matrix[0, :, 0] for matrix in case.rounds]
            ids = heed.select(case.k, kind="hash", block=unit, rounds=matrices, mask=case.mask)
            there = np.empty((ITEMS, HEADS, N // FACTOR), "uint8")
            how = dict(kind="bucket", block=unit, buckets=unit // FACTOR, ids=ids, mask=case.mask)
            k, there = heed.pool(case.k, y_mask=there, **how)
            v = heed.pool(case.v, **how)
            sizes = [np.asarray(heed.pool(abs(x), **how)) * (unit + 3 + EPSILON["lsh"])
                     for x in (case.k, case.v)]
            case.name += f" rounds={rounds + 1}"
            plan, o = case.attend([case.pooled((k, v), there)]), case.program(rounds=matrices)
            case.same_bits(report, plan, o)
            case.judge(report, o, bound_of(plan, made=case.made(*sizes)))


def bos_stages(case):
    """The last stage of BOS_POOLING, and the bound of the results."""
    first = case.q[:, :, :1].expand(-1, -1, N // FACTOR, -1)
    there = case.mask.view(ITEMS, 1, N // FACTOR, FACTOR).amax(-1)
    plans = [heed.attention.plan(first, case.k, x, terms=[heed.window(0, block=FACTOR)],
                                 mask=case.mask, q_pos_step=FACTOR, align="start")
             for x in (case.k, case.v)]
    sizes = [bound_of(plan) / oracle.UNIT for plan in plans]
    plan = case.attend([case.pooled([one() for one in plans], there)])
    return plan, bound_of(plan, made=case.made(*sizes))


def sees_groups_from(first):
    """The rows that have a group of index `first` or above among their sparse keys on the right:
    tokens from block B + 2 on, s f of them."""
    begin = (torch.arange(N) // BLOCK + 2) * BLOCK
    end = (begin + BLOCK * FACTOR).clamp(max=N)
    return end > begin.clamp(min=first * FACTOR)


def bos_pooling(report):
    """Texts that end within a group agree. Where padding fills groups the module lets rows see them
    as keys, which docs/mechanisms.md states: rows that have none of these in reach agree, and each
    row that has some does not."""
    for scale in (0.5, 2.0):
        case = Case("bos_pooling", [N, N - 3], scale)
        plan, bound = bos_stages(case)
        o = case.program()
        case.same_bits(report, plan, o)
        case.judge(report, o, bound)
    length = 117
    case = Case("bos_pooling", [N, length], 0.5)
    plan, bound = bos_stages(case)
    o, sees = case.program(), sees_groups_from(-(-length // FACTOR))
    rows = case.there.clone()
    rows[1] &= ~sees
    case.judge(report, o, bound, rows)
    off = (abs(np.asarray(o) - np.asarray(case.exact[:, :, GLOBALS:])) / bound)[1].max((0, 2))
    differ = sees & case.there[1]
    report.disagree("LSG bos_pooling, groups of padding", bool(differ.any())
                    and bool((off[differ.numpy()] > 1).all()),
                    f"{int(differ.sum())} rows see such groups, all of them differ")


if __name__ == "__main__":
    run([by_place, one_sparse_key_a_block, rows_of_globals, norm, pooling, lsh, bos_pooling])
