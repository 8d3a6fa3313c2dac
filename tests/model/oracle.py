# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Encoders, decoders and searches of every family in binary64, from the formulas of the papers.

It knows no windows, pages or caches: who sees whom is a matrix of all rows by all keys, and the
decoder computes all tokens anew. How far heed may be from it comes from tape.py.
"""

import dataclasses
import math

import numpy
import tape

# What families do otherwise than BERT (Devlin et al. 2019): layers with norms behind the sums.
# Norms first: Liu et al. 2020; Zhang et al. 2020; Phang et al. 2022.
NORM_FIRST = {"mbart", "pegasus", "t5", "longt5", "pegasus_x", "bigbird_pegasus"}
RMS = {"t5", "longt5"}                                # Raffel et al. 2020
WINDOWS = {"led", "longformer"}                       # Beltagy et al. 2020
FIRST_POSITION = {"bart": 2, "mbart": 2, "roberta": 2, "longformer": 2}
NEVER = -1e9                                          # A score that loses to all others.


# ---- who sees whom, and by how much more ----

def bucket(delta, buckets, far, both):
    """Of the key `delta` behind the row (Raffel et al. 2020, section 2.1): half of the buckets for
    each side, or all for keys before; the first half exact, then logarithmic up to `far`."""
    base = 0
    if both:
        buckets //= 2
        base = buckets if delta > 0 else 0
        delta = abs(delta)
    else:
        delta = max(-delta, 0)
    exact = buckets // 2
    if delta < exact:
        return base + delta
    rest, step = buckets - exact, 0
    # The largest step with (delta / exact)^rest >= (far / exact)^step, in whole numbers.
    while step + 1 < rest and delta ** rest * exact ** (step + 1) >= exact ** rest * far ** (step + 1):
        step += 1
    return base + exact + step


def relative(table, rows, keys, settings, both):
    """Biases [heads][rows][keys] of a table [buckets][heads], of places of rows and of keys."""
    index = [[bucket(int(k - r), settings["buckets"], settings["far"], both) for k in keys]
             for r in rows]
    return table[numpy.array(index)].transpose(2, 0, 1)


def near(n, reach):
    """Keys at most `reach` away."""
    places = numpy.arange(n)
    return abs(places[:, None] - places) <= reach


def blocks_of(n, block, shift=0):
    """Rows and keys of one block (Phang et al. 2022)."""
    which = (numpy.arange(n) + shift) // block
    return which[:, None] == which


def sparse_seen(n, s):
    """LSG's sparse keys, which have places in a sequence of their own, `block / factor` for each
    block: who sees which place (Condevaux and Harispe 2022, section 3.2)."""
    per = s["block"] // s["factor"]
    block, place = numpy.arange(n)[:, None] // s["block"], numpy.arange(-(-n // s["factor"]))
    left, right = (block - 1) * per, (block + 2) * per
    return ((place >= left - s["sparse_block"]) & (place < left)) | (
        (place >= right) & (place < right + s["sparse_block"]))


def lsg_seen(n, s, keys):
    """Of each head the tokens of a text that each row sees, local and sparse ones: `keys`
    [heads][n][d], of which NORM takes those that are the largest."""
    block, factor, places = s["block"], s["factor"], numpy.arange(n)
    which = places // block
    seen = numpy.repeat((abs(which[:, None] - which) <= 1)[None] * 1.0, len(keys), 0)
    if s["sparsity"] == "none":
        return seen
    # Where in the sequence of sparse keys a token would stand, and whether it does.
    stands, reach = sparse_seen(n, s), numpy.minimum(places // factor, -(-n // factor) - 1)
    for head, own in enumerate(keys):
        if s["sparsity"] == "stride":
            chosen = places % factor == head % factor
        elif s["sparsity"] == "block_stride":
            chosen = places % block // (block // factor) == head % factor
        else:
            unit = min(block, s["sparse_block"])
            size, chosen = (own * own).sum(-1), numpy.zeros(n, bool)
            for first in range(0, n, unit):
                part = slice(first, min(first + unit, n))
                chosen[first + numpy.argsort(-size[part])[:unit // factor]] = True
        seen[head] += stands[:, reach] & chosen
    return seen


def bigbird(n, block, random):
    """How often each key is seen by each row (Zaheer et al. 2020, appendix D). Published code draws
    no blocks when it evaluates: the first block stands in their places."""
    if n <= (5 + 2 * random) * block:
        return numpy.ones((n, n))
    places = numpy.arange(n) // block
    last = places[-1]
    seen = (abs(places[:, None] - places) <= 1) | (places == 0) | (places == last)
    seen = seen * 1.0
    seen[:, places == 0] += random
    seen[(places == 0) | (places == last)] = 1
    return seen


def places(n, settings):
    """Entries of the table for each row and key: the distance, from some on in logarithmic steps
    (He et al. 2021, version 2 of their code)."""
    buckets, reach = settings["position_buckets"], settings["reach"]
    span = buckets if buckets > 0 else reach
    index = numpy.empty((n, n), int)
    for i in range(n):
        for j in range(n):
            delta = abs(i - j)
            if buckets > 0 and delta > buckets // 2:
                middle, step = buckets // 2, 0
                # The least step with ((reach - 1) / middle)^step >= (delta / middle)^(middle - 1).
                while (reach - 1) ** step * middle ** (middle - 1) < \
                        delta ** (middle - 1) * middle ** step:
                    step += 1
                delta = middle + step
            entry = span + (delta if i > j else -delta)
            index[i, j] = min(max(entry, 0), 2 * span - 1)
    return index


# ---- the model ----

@dataclasses.dataclass
class Model:
    """Settings and tensors of checkpoints.read(). attention: None, as the checkpoint says; or
    ("full",), ("longformer", window, globals), ("block", tokens), ("lsg", settings of LSG)."""
    settings: dict
    tensors: dict
    attention: tuple = None

    def get(self, name):
        return self.tensors.get(name)

    # -- parts of a layer --

    def linear(self, t, x, name, add=None):
        return t.linear(x, self.tensors[name + ".weight"], self.get(name + ".bias"), add)

    def norm(self, t, x, name):
        if name + ".weight" not in self.tensors:
            return x
        bias = None if self.settings["family"] in RMS else self.tensors[name + ".bias"]
        return t.norm(x, self.tensors[name + ".weight"], bias, self.settings["eps"])

    def hidden(self, t, x, layer):
        """The hidden layer with its norm and its sum."""
        first, act = self.settings["family"] in NORM_FIRST, self.settings["act"]
        inner = self.norm(t, x, layer + "last_norm") if first else x
        up = self.linear(t, inner, layer + "up")
        if act.startswith("gated-"):
            act = act.removeprefix("gated-").replace("gelu", "gelu_new")
            up = t.multiply(t.act(up, act), self.linear(t, inner, layer + "gate"))
        else:
            up = t.act(up, act)
        x = self.linear(t, up, layer + "down", x)
        return x if first else self.norm(t, x, layer + "last_norm")

    def around(self, t, x, layer, see, norm, out):
        """x + attention of x, with the norm before or behind."""
        first = self.settings["family"] in NORM_FIRST
        inner = self.norm(t, x, layer + norm) if first else x
        x = self.linear(t, see(inner), layer + out, x)
        return x if first else self.norm(t, x, layer + norm)

    # -- before the first layer --

    def positions(self, stack, n):
        """Rows of positions, and how far they are off."""
        s = self.settings
        first = FIRST_POSITION.get(s["family"], 0)
        table = self.get(stack + ".positions.weight")
        if table is None and s["family"] in ("pegasus", "pegasus_x"):
            half = s["model"] // 2
            # Pegasus-X reaches the slowest of the frequencies, Pegasus stops before it.
            last = half if s["family"] == "pegasus" else half - 1
            angles = numpy.arange(n)[:, None] / 10000 ** (numpy.arange(half) / last)
            table = numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1)
            return table, tape.U * abs(table)
        return (0, 0) if table is None else (table[first:][:n], 0)

    def begin(self, t, stack, ids, where=None):
        """Tokens, positions and types: docs/numerics.md, section 16. where: the positions."""
        s = self.settings
        tokens = self.get(stack + ".tokens.weight")
        x = (self.tensors["encoder.tokens.weight"] if tokens is None else tokens)[ids]
        error = numpy.zeros_like(x)
        if s["scaled"]:
            x = x * math.sqrt(s["model"])
            error += 2 * tape.U * abs(x)
        places, off = self.positions(stack, len(ids) if where is None else None)
        if where is not None and numpy.ndim(places):
            places = places[where]
        x, error = x + places, error + off
        types = self.get(stack + ".types.weight")
        if numpy.ndim(places):
            error += tape.U * abs(x)
        if types is not None:
            x = x + types[0]
            error += tape.U * abs(x)
        return self.norm(t, t.leaf(x, error), stack + ".first")

    # -- the encoder --

    def lsg(self):
        """Settings of LSG, or None."""
        if self.attention:
            return self.attention[1] | {"made": True} if self.attention[0] == "lsg" else None
        return self.settings if self.settings.get("lsg") == "lsg" else None

    def shown(self):
        """Rows of the encoder's own that the decoder sees."""
        s = self.lsg()
        decodes = "decoder.0.q.weight" in self.tensors
        return s["globals"] if s and decodes and s.get("shown", True) else 0

    def begin_text(self, t, ids):
        """A text whose positions begin anew where there are no more, behind rows of its own."""
        s, room = self.lsg(), len(self.positions("encoder", None)[0])
        x = self.begin(t, "encoder", ids, numpy.arange(len(ids)) % room)
        if not s:
            return x
        if s.get("made"):               # of the token that begins texts, at every 64th position
            at = 64 * numpy.arange(s["globals"])
            own = self.begin(t, "encoder", [self.settings["bos"]] * s["globals"],
                             (at % room + at // room) % room)
        else:
            own = self.norm(t, t.leaf(self.tensors["encoder.globals.weight"][:s["globals"]]),
                            "encoder.first")
        return t.join(own, x)

    def see_lsg(self, t, qkv, s):
        """Local, sparse and global keys (Condevaux and Harispe 2022, section 3)."""
        q, k, v = qkv
        heads, g, rows = self.settings["heads"], s["globals"], len(q.value)
        n = rows - g
        if n <= 2 * s["block"]:
            return t.attend(q, k, v, heads, numpy.ones((rows, rows), bool))
        seen = numpy.ones((heads, rows, rows))
        keys = k.value[g:].reshape(n, heads, -1).swapaxes(0, 1)
        pooled = s["sparsity"] == "pooling"
        seen[:, g:, g:] = lsg_seen(n, s | {"sparsity": "none"} if pooled else s, keys)
        if pooled:
            groups = (numpy.arange(rows) - g) // s["factor"]
            sums = (numpy.arange(-(-n // s["factor"]))[:, None] == groups) * 1.0
            k, v = (t.join(x, t.scale(t.sums(x, sums), 1 / sums.sum(-1, keepdims=True)))
                    for x in (k, v))
            more = numpy.zeros((heads, rows, len(sums)))
            more[:, g:] = sparse_seen(n, s)
            seen = numpy.concatenate([seen, more], 2)
        return t.attend(q, k, v, heads, seen)

    def window(self, i):
        """What a layer sees: ("full",), ("longformer", whole window, globals), ("longt5",)."""
        s = self.settings
        if self.attention:
            kind = self.attention
            if kind[0] == "block":
                return ("block", kind[1], kind[1] // 2 * (i % 2))
            if kind[0] == "bigbird":
                return ("bigbird", kind[1], 0)
            if kind[0] != "longformer" or kind[1]:
                return kind
            globals_ = kind[2]
        else:
            globals_ = 1
            if self.lsg():
                return ("lsg", self.lsg())
            if s["family"] in ("longt5", "deberta-v2"):
                return (s["family"].removesuffix("-v2"),)
            if s["family"] in ("big_bird", "bigbird_pegasus") and s["sparse"] == "block_sparse":
                return ("bigbird", s["block"], s["random_blocks"])
            if s["family"] not in WINDOWS:
                return ("full",)
        window = s["window"]
        return ("longformer", window if isinstance(window, int) else window[i], globals_)

    def see(self, t, x, layer, kind):
        """Attention of the rows of an encoder over themselves."""
        s, n = self.settings, len(x.value)
        q, k, v = (self.linear(t, x, layer + part) for part in "qkv")
        everyone, places = numpy.ones((n, n), bool), numpy.arange(n)
        heads = s["heads"]
        if kind[0] == "lsg":
            return self.see_lsg(t, (q, k, v), self.lsg())
        if kind[0] == "block":
            return t.attend(q, k, v, heads, blocks_of(n, *kind[1:]))
        if kind[0] == "deberta":
            return self.see_deberta(t, layer, (q, k, v))
        if kind[0] == "bigbird":
            return t.attend(q, k, v, heads, bigbird(n, *kind[1:]))
        if kind[0] == "longt5":
            return self.see_longt5(t, x, layer, (q, k, v))
        if kind[0] == "longformer":
            g = min(kind[2], n)
            seen = near(n, kind[1] // 2) | (places < g)
            if layer + "q_global.weight" not in self.tensors:
                return t.attend(q, k, v, heads, seen | (places < g)[:, None])
            o = t.attend(q, k, v, heads, seen)
            if g == 0:
                return o
            rows = t.rows(x, 0, g)
            q, k, v = (self.linear(t, rows if part == "q" else x, layer + part + "_global")
                       for part in "qkv")
            return t.join(t.attend(q, k, v, heads, everyone[:g]), t.rows(o, g, n))
        if s["family"] not in RMS:
            return t.attend(q, k, v, heads, everyone)
        bias = relative(self.tensors["encoder.table.weight"], places, places, s, True)
        return t.attend(q, k, v, heads, everyone, 1, bias)

    def see_longt5(self, t, x, layer, qkv):
        """Windows; and sums of blocks of tokens, the last one with what is left over (Guo et al.
        2022, section 3.1)."""
        s, n = self.settings, len(x.value)
        q, k, v = qkv
        places = numpy.arange(n)
        seen = near(n, s["radius"])
        bias = relative(self.tensors["encoder.table.weight"], places, places, s, True)
        sums = n // s["side_block"] if s["attention"] == "transient-global" else 0
        if sums == 0:
            return t.attend(q, k, v, s["heads"], seen, 1, bias)
        blocks = numpy.minimum(places // s["side_block"], sums - 1)
        side = t.sums(x, (numpy.arange(sums)[:, None] == blocks) * 1.0)
        side = self.norm(t, side, layer + "side_norm")
        k = t.join(k, self.linear(t, side, layer + "k"))
        v = t.join(v, self.linear(t, side, layer + "v"))
        more = relative(self.tensors["encoder.side_table.weight"], blocks, numpy.arange(sums), s,
                        True)
        seen = numpy.concatenate([seen, numpy.ones((n, sums), bool)], 1)
        return t.attend(q, k, v, s["heads"], seen, 1, numpy.concatenate([bias, more], 2))

    def see_deberta(self, t, layer, qkv):
        """Rows for distances that meet queries and keys (He et al. 2021, equation 4)."""
        s, n = self.settings, len(qkv[0].value)
        everyone = numpy.ones((n, n), bool)
        kinds = s["kinds"].split("|") if s["relative"] else []
        scale = 1 / math.sqrt(s["head_dim"] * (1 + len(kinds)))
        if not kinds:
            return t.attend(*qkv, s["heads"], everyone, scale)
        rows = t.leaf(self.tensors["encoder.places.weight"])
        if s["places_norm"] == "layer_norm":
            rows = self.norm(t, rows, "encoder.places_norm")
        front = "" if s["share_keys"] else "places_"
        met = [self.linear(t, rows, layer + front + part) if kind in kinds else None
               for part, kind in (("k", "c2p"), ("q", "p2c"))]
        return t.attend(*qkv, s["heads"], everyone, scale, None, (*met, places(n, s)))

    def encode_pegasus_x(self, t, ids):
        """Rows of its own go with the text's, which see each other in blocks (Phang et al. 2022,
        section 3)."""
        s = self.settings
        g, n = s["globals"], len(ids)
        x = t.join(t.leaf(self.tensors["encoder.globals.weight"]), self.begin(t, "encoder", ids))
        for i in range(s["layers"]):
            layer = f"encoder.{i}."
            shift = s["block"] // 2 if s["stagger"] and i % 2 else 0
            seen = numpy.ones((g + n, g + n), bool)
            seen[g:, g:] = blocks_of(n, s["block"], shift)
            inner = t.join(self.norm(t, t.rows(x, 0, g), layer + "side_norm"),
                           self.norm(t, t.rows(x, g, g + n), layer + "norm"))
            q, k, v = (self.linear(t, inner, layer + part) for part in "qkv")
            x = self.linear(t, t.attend(q, k, v, s["heads"], seen), layer + "o", x)
            x = self.hidden(t, x, layer)
        return self.norm(t, t.rows(x, g, g + n), "encoder.final")

    def encode(self, t, ids):
        """Behind the last layer."""
        if self.settings["family"] == "pegasus_x":
            return self.encode_pegasus_x(t, ids)
        again = self.attention or self.lsg()
        x = self.begin_text(t, ids) if again else self.begin(t, "encoder", ids)
        for i in range(self.settings["layers"]):
            layer, kind = f"encoder.{i}.", self.window(i)
            x = self.around(t, x, layer, lambda y: self.see(t, y, layer, kind), "norm", "o")
            x = self.hidden(t, x, layer)
        x, s = self.norm(t, x, "encoder.final"), self.lsg()
        if not s or self.shown():
            return x
        # The first of its own rows may take the place of the text's first.
        g, rows = s["globals"], len(x.value)
        return t.join(t.rows(x, 0, 1), t.rows(x, g + 1, rows)) if s.get("pooled", True) \
            else t.rows(x, g, rows)

    def text(self, x):
        """Of what the encoder gives, the rows of the text."""
        return x.value[self.shown():]

    # -- the decoder --

    def decode(self, t, states, ids, looks=None):
        """Logits of what follows each of the ids. looks: takes, of each layer, the weights of the
        text's rows, [ids][heads * rows]."""
        s, n = self.settings, len(ids)
        heads, places = s["decoder_heads"], numpy.arange(n)
        before = places <= places[:, None]
        everyone = numpy.ones((n, len(states.value)), bool)
        alone = s["family"] in RMS
        bias = relative(self.tensors["decoder.table.weight"], places, places, s, False) if alone \
            else None

        def see(x, layer):
            q, k, v = (self.linear(t, x, layer + part) for part in "qkv")
            return t.attend(q, k, v, heads, before, 1 if alone else None, bias)

        def cross(x, layer):
            q = self.linear(t, x, layer + "cross_q")
            k, v = (self.linear(t, states, layer + "cross_" + part) for part in "kv")
            if looks is not None:       # weights are what values of 0 and 1 become
                ones = t.leaf(numpy.tile(numpy.eye(len(states.value)), (1, heads)))
                looks.append(t.attend(q, k, ones, heads, everyone, 1 if alone else None))
            return t.attend(q, k, v, heads, everyone, 1 if alone else None)
        x = self.begin(t, "decoder", ids)
        for i in range(s["decoder_layers"]):
            layer = f"decoder.{i}."
            x = self.around(t, x, layer, lambda y: see(y, layer), "norm", "o")
            x = self.around(t, x, layer, lambda y: cross(y, layer), "cross_norm", "cross_o")
            x = self.hidden(t, x, layer)
        x = self.norm(t, x, "decoder.final")
        own = self.get("head.weight")
        tied = s["tied"] or own is None
        x = t.linear(x, self.tensors["encoder.tokens.weight"] if tied else own,
                     self.get("head.bias"))
        return t.scale(x, s["model"] ** -0.5) if alone and tied and s["scaled_outputs"] else x

    # -- what tests ask for --

    def states(self, ids, rows=slice(None)):
        """States of some rows and how far heed may be off."""
        t = tape.Tape()
        x = self.encode(t, ids)
        x = t.rows(x, self.shown(), len(x.value))
        return x.value[rows], t.bound(x, rows)

    def logits(self, ids, following):
        """Logits and how far heed may be off."""
        t = tape.Tape()
        x = self.decode(t, self.encode(t, ids), following)
        return x.value, t.bound(x)

    def looks(self, ids, following):
        """What rows of `following` give to tokens of the text, the mean of layers and heads, and how
        far heed may be off: the mean of bounds, and a rounding."""
        t, nodes = tape.Tape(), []
        self.decode(t, self.encode(t, ids), following, nodes)
        shape = (len(nodes), len(following), self.settings["decoder_heads"], -1)
        value, bound = (numpy.reshape(x, shape).mean((0, 2))[:, self.shown():] for x in (
            [n.value for n in nodes], [t.bound(n) for n in nodes]))
        return value, bound + tape.U * value + tape.TINY

    def search(self, ids, **options):
        """The sequence that generate() of transformers 5 documents."""
        return Search(self, ids, options).run()


# ---- searches ----

def log_softmax(x):
    top = x.max()
    return x - top - math.log(numpy.exp(x - top).sum())


@dataclasses.dataclass
class Hypothesis:
    """A sequence; how it scores; where the score comes from: steps as (prefix, token)."""
    ids: tuple
    score: float
    size: int = 1                       # what the score was divided by


class Search:
    """Greedy or beam search. Every choice leaves in `choices` the two scores between which it
    fell, so that a caller can ask how safe it is."""

    def __init__(self, model, ids, options):
        s = model.settings
        known = {key: s[key] for key in ("beams", "min_length", "no_repeat", "stopping",
                                         "length_penalty", "forced_bos", "forced_eos", "start",
                                         "eos")}
        known["max_length"] = s["max_length"] or 142
        self.options = known | options
        self.model, self.choices, self.rows = model, [], {}
        self.ids, self.states = ids, model.encode(tape.Tape(), ids)

    def fell(self, better, worse):
        """A choice between two finite scores."""
        if better is not None and worse is not None and math.isfinite(worse.score) and \
                worse.score > NEVER / 2:
            self.choices.append((better, worse))

    def next_logits(self, ids):
        """Of a sequence, the last row."""
        if ids not in self.rows:
            t = tape.Tape()
            states = t.leaf(self.states.value)
            self.rows[ids] = self.model.decode(t, states, list(ids)).value[-1]
        return self.rows[ids].copy()

    def processed(self, ids, x):
        """What lengths, repeats and forced tokens leave of the scores."""
        o, n = self.options, len(ids)
        gram = o["no_repeat"]
        for i in range(n - gram + 1 if gram else 0):
            if ids[i:i + gram - 1] == ids[n - gram + 1:]:
                x[ids[i + gram - 1]] = -math.inf
        if n < o["min_length"] and o["eos"] is not None:
            x[o["eos"]] = -math.inf
        for place, token in ((1, o["forced_bos"]), (o["max_length"] - 1, o["forced_eos"])):
            if n == place and token is not None:
                x[:] = -math.inf
                x[token] = 0
        return x

    def run(self):
        return self.greedy() if self.options["beams"] == 1 else self.beams()

    def greedy(self):
        o, ids = self.options, (self.options["start"],)
        while len(ids) < o["max_length"]:
            x = self.processed(ids, self.next_logits(ids))
            order = numpy.argsort(-x, kind="stable")[:2]
            self.fell(*(Hypothesis(ids + (int(i),), x[i]) for i in order))
            ids += (int(order[0]),)
            if ids[-1] == o["eos"]:
                break
        return list(ids)

    def beams(self):
        """The scheme of transformers: running sequences, and finished ones of the same number."""
        o, k = self.options, self.options["beams"]
        running = [Hypothesis((o["start"],), 0.0 if i == 0 else NEVER) for i in range(k)]
        done, hope = [], True
        while True:
            n = len(running[0].ids)
            best = self.candidates(running, 2 * k)
            ends = [c.ids[-1] == o["eos"] or n + 1 >= o["max_length"] for c in best]
            if hope and not (o["stopping"] is True and len(done) == k):
                new = [Hypothesis(c.ids, c.score / n ** o["length_penalty"],
                                  n ** o["length_penalty"])
                       for c, end in zip(best[:k], ends) if end]
                done = self.in_order(done + new)[:k]
            open_ = [c for c, end in zip(best, ends) if not end]
            running = (open_ + [Hypothesis(c.ids, c.score + NEVER)
                                for c, end in zip(best, ends) if end])[:k]
            hope = hope and self.improvable(running[0], done, n)
            if not hope or not open_ or o["stopping"] is True and len(done) == k:
                break
        return list((done or running)[0].ids)

    def candidates(self, running, most):
        """The best tokens behind all sequences."""
        all_ = []
        for h in running:
            x = self.processed(h.ids, log_softmax(self.next_logits(h.ids))) + h.score
            all_ += [Hypothesis(h.ids + (int(i),), float(x[i]))
                     for i in numpy.argsort(-x, kind="stable")[:most + 1]]
        return self.in_order(all_)[:most]

    def in_order(self, all_):
        all_ = sorted(all_, key=lambda h: -h.score)
        for a, b in zip(all_[:2 * self.options["beams"]], all_[1:]):
            self.fell(a, b)
        return all_

    def improvable(self, best, done, n):
        """Can the best running sequence become better than the worst finished one?"""
        o = self.options
        far = o["max_length"] - 1 if o["stopping"] == "never" and o["length_penalty"] > 0 else n
        size = far ** o["length_penalty"]
        reach = Hypothesis(best.ids, best.score / size, size)
        if len(done) < o["beams"]:
            return True
        worst = done[-1]
        self.fell(*((reach, worst) if reach.score > worst.score else (worst, reach)))
        return reach.score > worst.score
