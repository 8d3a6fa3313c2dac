# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Small random checkpoints of every family, written and read without anything of heed's.

A family is two tables here: what its fields are called in config.json, and what its tensors are
called in model.safetensors, each under one name that all families share ("encoder.0.q.weight").
The format of the weights (safetensors, 2022) is eight bytes of length, a header in JSON, data.
"""

import json
import pathlib
import struct

import numpy

# ---- names of fields ----

SPECIAL = {"pad": "pad_token_id", "bos": "bos_token_id", "eos": "eos_token_id",
           "start": "decoder_start_token_id", "forced_bos": "forced_bos_token_id",
           "forced_eos": "forced_eos_token_id", "tied": "tie_word_embeddings"}
SEARCH = {"beams": "num_beams", "min_length": "min_length", "max_length": "max_length",
          "no_repeat": "no_repeat_ngram_size", "stopping": "early_stopping",
          "length_penalty": "length_penalty"}
BART = {"vocab": "vocab_size", "model": "d_model", "layers": "encoder_layers",
        "decoder_layers": "decoder_layers", "heads": "encoder_attention_heads",
        "decoder_heads": "decoder_attention_heads", "hidden": "encoder_ffn_dim",
        "decoder_hidden": "decoder_ffn_dim", "act": "activation_function",
        "positions": "max_position_embeddings", "scaled": "scale_embedding"}
LED = BART | {"positions": "max_encoder_position_embeddings",
              "decoder_positions": "max_decoder_position_embeddings", "window": "attention_window"}
T5 = {"vocab": "vocab_size", "model": "d_model", "head_dim": "d_kv", "hidden": "d_ff",
      "layers": "num_layers", "decoder_layers": "num_decoder_layers", "heads": "num_heads",
      "act": "feed_forward_proj", "eps": "layer_norm_epsilon",
      "buckets": "relative_attention_num_buckets", "far": "relative_attention_max_distance",
      "scaled_outputs": "scale_decoder_outputs"}
LONGT5 = T5 | {"radius": "local_radius", "side_block": "global_block_size",
               "attention": "encoder_attention_type"}
BERT = {"vocab": "vocab_size", "model": "hidden_size", "layers": "num_hidden_layers",
        "heads": "num_attention_heads", "hidden": "intermediate_size", "act": "hidden_act",
        "positions": "max_position_embeddings", "types": "type_vocab_size",
        "eps": "layer_norm_eps"}
LONGFORMER = BERT | {"window": "attention_window"}
BIGBIRD = {"block": "block_size", "random_blocks": "num_random_blocks",
           "sparse": "attention_type"}
LSG = {"lsg": "base_model_prefix", "sparsity": "sparsity_type", "block": "block_size",
       "sparse_block": "sparse_block_size", "factor": "sparsity_factor",
       "globals": "num_global_tokens", "shown": "pass_global_tokens_to_decoder",
       "pooled": "pool_with_global"}
PEGASUS_X = BART | {"block": "block_size", "globals": "num_global_tokens",
                    "stagger": "stagger_local_blocks"}
DEBERTA = BERT | {"relative": "relative_attention", "reach": "max_relative_positions",
                  "position_buckets": "position_buckets", "places_norm": "norm_rel_ebd",
                  "share_keys": "share_att_key", "kinds": "pos_att_type",
                  "position_input": "position_biased_input"}

# ---- names of tensors ----

BART_LAYER = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
              "o": "self_attn.out_proj", "norm": "self_attn_layer_norm", "up": "fc1",
              "down": "fc2", "last_norm": "final_layer_norm"}
BART_CROSS = {"cross_q": "encoder_attn.q_proj", "cross_k": "encoder_attn.k_proj",
              "cross_v": "encoder_attn.v_proj", "cross_o": "encoder_attn.out_proj",
              "cross_norm": "encoder_attn_layer_norm"}
BART_FRONT = {"positions": "embed_positions", "first": "layernorm_embedding"}
LED_SELF = "self_attn.longformer_self_attn."
LED_LAYER = BART_LAYER | {"o": "self_attn.output"} | {
    part + ending: LED_SELF + name + ending for part, name in
    (("q", "query"), ("k", "key"), ("v", "value")) for ending in ("", "_global")}
BERT_SELF = "attention.self."
BERT_LAYER = {"q": BERT_SELF + "query", "k": BERT_SELF + "key", "v": BERT_SELF + "value",
              "o": "attention.output.dense", "norm": "attention.output.LayerNorm",
              "up": "intermediate.dense", "down": "output.dense", "last_norm": "output.LayerNorm"}
BERT_FRONT = {"tokens": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
              "types": "embeddings.token_type_embeddings", "first": "embeddings.LayerNorm"}


def t5_layer(attention, hidden, gated, side=False):
    """Names of T5: parts of a block have numbers, `hidden` that of the hidden layer."""
    names = {part: f"layer.0.{attention}.{part}" for part in "qkvo"}
    names |= {"norm": "layer.0.layer_norm", "last_norm": f"layer.{hidden}.layer_norm",
              "down": f"layer.{hidden}.DenseReluDense.wo"}
    wi = f"layer.{hidden}.DenseReluDense.wi"
    names |= {"up": wi + "_0", "gate": wi + "_1"} if gated else {"up": wi}
    if side:
        names["side_norm"] = f"layer.0.{attention}.global_input_layer_norm"
    return names


T5_CROSS = {"cross_" + part: "layer.1.EncDecAttention." + part for part in "qkvo"} | {
    "cross_norm": "layer.1.layer_norm"}


def stacks_of(family, settings):
    """Of each stack: what stands before its names, of its layers, names in a layer, others."""
    if family in ("pegasus_x", "bigbird_pegasus"):
        front = {"final": "layer_norm"} if family == "pegasus_x" else \
            {"positions": "embed_positions", "final": "layernorm_embedding"}
        layer = BART_LAYER | {"side_norm": "global_self_attn_layer_norm"}
        if family == "bigbird_pegasus":
            layer = BART_LAYER | {"q": "self_attn.self.query", "k": "self_attn.self.key",
                                  "v": "self_attn.self.value", "o": "self_attn.output"}
        own = {"globals": "embed_global"} if family == "pegasus_x" else {}
        return {"encoder": ("encoder.", "layers.", layer, front | own),
                "decoder": ("decoder.", "layers.", BART_LAYER | BART_CROSS, front)}
    if family in ("bart", "mbart", "led", "pegasus"):
        front = dict(BART_FRONT)
        if family in ("mbart", "pegasus"):
            front["final"] = "layer_norm"
        if family == "pegasus":
            del front["first"]
        layer = LED_LAYER if family == "led" else BART_LAYER
        own = {"globals": "global_embeddings"} if settings.get("lsg") else {}
        return {"encoder": ("encoder.", "layers.", layer, front | own),
                "decoder": ("decoder.", "layers.", BART_LAYER | BART_CROSS, front)}
    if family in ("t5", "longt5"):
        gated = settings["act"].startswith("gated-")
        side = settings.get("attention") == "transient-global"
        kind = "SelfAttention" if family == "t5" else \
            "TransientGlobalSelfAttention" if side else "LocalSelfAttention"
        front = {"final": "final_layer_norm",
                 "table": f"block.0.layer.0.{kind}.relative_attention_bias"}
        if side:
            front["side_table"] = f"block.0.layer.0.{kind}.global_relative_attention_bias"
        return {"encoder": ("encoder.", "block.", t5_layer(kind, 1, gated, side), front),
                "decoder": ("decoder.", "block.", t5_layer("SelfAttention", 2, gated) | T5_CROSS,
                            {"final": "final_layer_norm",
                             "table": "block.0.layer.0.SelfAttention.relative_attention_bias"})}
    layer = dict(BERT_LAYER)
    if family == "longformer":
        layer |= {part + "_global": layer[part] + "_global" for part in "qkv"}
    front = dict(BERT_FRONT)
    if settings.get("lsg"):
        front["globals"] = "embeddings.global_embeddings"
    if family == "deberta-v2":
        layer |= {part: layer[part] + "_proj" for part in "qkv"}
        if settings["relative"]:
            front["places"] = "encoder.rel_embeddings"
        if settings["places_norm"] == "layer_norm":
            front["places_norm"] = "encoder.LayerNorm"
        if not settings["share_keys"]:
            layer |= {"places_k": BERT_SELF + "pos_key_proj",
                      "places_q": BERT_SELF + "pos_query_proj"}
        if not settings["position_input"]:
            del front["positions"]
        if not settings["types"]:
            del front["types"]
    return {"encoder": ("", "encoder.layer.", layer, front)}


# Of each family: fields of config.json, what stands before all names of tensors in the files of
# whole models, eps where config.json says nothing, the row of position 0.
FAMILIES = {
    "bart": (BART | LSG, "model.", 1e-5, 2), "mbart": (BART, "model.", 1e-5, 2),
    "led": (LED, "led.", 1e-5, 0), "pegasus": (BART, "model.", 1e-5, 0),
    "t5": (T5, "", 1e-6, 0), "longt5": (LONGT5, "", 1e-6, 0), "bert": (BERT | LSG, "bert.", 1e-12, 0),
    "roberta": (BERT | LSG, "roberta.", 1e-12, 2), "longformer": (LONGFORMER, "longformer.", 1e-12, 2),
    "pegasus_x": (PEGASUS_X, "model.", 1e-5, 0), "big_bird": (BERT | BIGBIRD, "bert.", 1e-12, 0),
    "bigbird_pegasus": (BART | BIGBIRD, "model.", 1e-5, 0),
    "deberta-v2": (DEBERTA, "deberta.", 1e-7, 0),
}
RELATIVE = ("t5", "longt5")
ENCODERS = ("bert", "roberta", "longformer", "big_bird", "deberta-v2")
PLAIN = ("pegasus_x", "bigbird_pegasus")    # Maps of attention have no biases.
COMPUTED = ("pegasus", "pegasus_x")         # So are their positions.

# What tests draw: a family and what it has that is not the default. eps shows where it is large, or
# the embedded tokens are faint; eps None: config.json has none.
LSG_USUAL = {"lsg": "lsg", "block": 4, "sparse_block": 4, "factor": 2}
VARIANTS = {
    "bart": {}, "bart-faint": {"faint": True},
    "bart-lsg": LSG_USUAL | {"sparsity": "norm", "globals": 2, "shown": True},
    "roberta-lsg": LSG_USUAL | {"types": 1, "sparsity": "pooling", "globals": 1, "pooled": True},
    "mbart": {"scaled": True}, "led": {"window": [8, 4], "positions": 96},
    "pegasus": {"scaled": True, "act": "relu"}, "t5": {"act": "relu", "far": 20, "buckets": 16, "eps": 0.02},
    "t5-gated": {"act": "gated-gelu", "tied": False}, "longt5": {"act": "relu", "radius": 5, "far": 12, "buckets": 16},
    "longt5-global": {"act": "gated-silu", "attention": "transient-global", "radius": 7,
                      "side_block": 4, "tied": False, "far": 12, "buckets": 16},
    "bert": {"eps": 0.02}, "roberta": {"types": 1, "eps": None, "faint": True},
    "longformer": {"types": 1, "window": [4, 8], "eps": 0.05},
    "pegasus_x": {"scaled": True, "act": "relu", "block": 4, "globals": 3, "stagger": True},
    "big_bird": {"act": "gelu_new", "block": 2, "random_blocks": 1, "sparse": "block_sparse"},
    "bigbird_pegasus": {"scaled": True, "act": "gelu_new", "block": 2, "random_blocks": 1,
                        "sparse": "block_sparse"},
    "deberta-v2": {"types": 0, "relative": True, "reach": 16, "position_buckets": 4,
                   "places_norm": "layer_norm", "share_keys": True, "kinds": "p2c|c2p",
                   "position_input": False},
    "deberta-v2-apart": {"relative": True, "reach": 6, "position_buckets": -1, "eps": None,
                         "places_norm": "none", "share_keys": False, "kinds": ["c2p", "p2c"],
                         "position_input": True, "faint": True},
}


def family_of(variant):
    """The family of a variant."""
    return max((name for name in FAMILIES if (variant + "-").startswith(name + "-")), key=len)


def settings_of(variant, **changes):
    """What a variant is, by the names that all families share."""
    family = family_of(variant)
    s = {"family": family, "vocab": 40, "model": 16, "layers": 2, "heads": 2, "hidden": 24,
         "act": "gelu", "positions": 64, "eps": FAMILIES[family][2], "pad": 1, "bos": 0, "eos": 2,
         "tied": True, "scaled": False}
    if family not in ENCODERS:
        s |= {"decoder_layers": 2, "decoder_heads": 2, "decoder_hidden": 20, "start": 2}
    if family in RELATIVE:
        s |= {"head_dim": 6, "buckets": 32, "far": 128, "start": 0, "eos": 1, "pad": 0}
        for absent in ("positions", "decoder_heads", "decoder_hidden", "scaled", "bos"):
            s.pop(absent)
    if family == "longt5":
        s |= {"attention": "local", "radius": 5, "side_block": 16}
    if family == "led":
        s |= {"decoder_positions": 48}
    if family in ENCODERS:
        s |= {"types": 2}
        s.pop("scaled")
    return s | VARIANTS[variant] | changes


def config_of(settings):
    """config.json of these settings."""
    names = FAMILIES[settings["family"]][0] | SPECIAL
    config = {names[key]: value for key, value in settings.items()
              if key in names and value is not None}
    return {"model_type": settings["family"], "architectures": ["Random"],
            "transformers_version": "5"} | config


def parse_config(config):
    """Settings of what config.json and generation_config.json say, the second one over the first;
    what they do not say is as transformers documents it."""
    family = config["model_type"]
    names = FAMILIES[family][0] | SPECIAL | SEARCH
    s = {"family": family, "eps": FAMILIES[family][2], "tied": True, "scaled": False,
         "attention": "local", "radius": 127, "side_block": 16, "buckets": 32, "far": 128,
         "beams": 1, "min_length": 0, "max_length": None, "no_repeat": 0, "stopping": False,
         "length_penalty": 1.0, "forced_bos": None, "forced_eos": None, "places_norm": "none",
         "share_keys": False, "position_buckets": -1, "position_input": True}
    s |= {key: config[name] for key, name in names.items() if config.get(name) is not None}
    s.setdefault("scaled_outputs", s["tied"])   # T5 1.1 ties its tokens, or not, and scales nothing
    s.setdefault("decoder_layers", s["layers"])
    s.setdefault("decoder_heads", s["heads"])
    s.setdefault("decoder_hidden", s["hidden"])
    s.setdefault("head_dim", s["model"] // s["heads"])
    s.setdefault("decoder_positions", s.get("positions"))
    if not isinstance(s.get("kinds", ""), str):
        s["kinds"] = "|".join(s["kinds"])
    if s.get("reach", 1) < 1:
        s["reach"] = s["positions"]
    return s


def names_of(settings, root):
    """Of each tensor its name in the files, by the name that all families share."""
    names = {}
    family = settings["family"]
    for stack, (prefix, layers, layer, front) in stacks_of(family, settings).items():
        count = settings["layers" if stack == "encoder" else "decoder_layers"]
        for part, name in front.items():
            names[f"{stack}.{part}"] = root + prefix + name
        for i in range(count):
            for part, name in layer.items():
                names[f"{stack}.{i}.{part}"] = f"{root}{prefix}{layers}{i}.{name}"
    if family not in ENCODERS:
        names["encoder.tokens"] = root + "shared"
        names["head"] = "lm_head"
    return names


# ---- types of elements ----

def to_bf16(x):
    """Bits of the nearest numbers of bfloat16, ties to even."""
    bits = numpy.ascontiguousarray(x, "<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


STORE = {"F32": lambda x: x.astype("<f4"), "F16": lambda x: x.astype("<f2"), "BF16": to_bf16}
LOAD = {"F32": lambda b: numpy.frombuffer(b, "<f4"), "F16": lambda b: numpy.frombuffer(b, "<f2"),
        "BF16": lambda b: (numpy.frombuffer(b, "<u2").astype("<u4") << 16).view("<f4")}


# ---- files ----

def pack(header, data=b""):
    """A file of a header, an object or bytes, and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def weights_file(tensors, dtype):
    """A file of tensors, name to array."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in tensors.items():
        stored = STORE[dtype](array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(stored)]}
        data += stored
    return pack(header, data)


def read_weights(path):
    """Name to array, of one file."""
    blob = path.read_bytes()
    length = struct.unpack("<Q", blob[:8])[0]
    header = json.loads(blob[8:8 + length])
    header.pop("__metadata__", None)
    return {name: LOAD[t["dtype"]](blob[8 + length + t["data_offsets"][0]:
                                        8 + length + t["data_offsets"][1]])
            .astype("f8").reshape(t["shape"]) for name, t in header.items()}


def shapes_of(settings):
    """Of each tensor its extents, and whether it has a bias, by the name that all share."""
    s, family = parse_config(config_of(settings)), settings["family"]
    inner = s["heads"] * s["head_dim"]
    biased = family not in RELATIVE
    shapes = {}
    for name in names_of(settings, ""):
        stack, part = name.split(".")[0], name.split(".")[-1]
        hidden = s["decoder_hidden" if stack == "decoder" else "hidden"]
        kind = part.removeprefix("cross_").removeprefix("places_").removesuffix("_global")
        extents = {"q": (inner, s["model"]), "o": (s["model"], inner),
                   "up": (hidden, s["model"]), "down": (s["model"], hidden),
                   "table": (s["buckets"], s["heads"]), "tokens": (s["vocab"], s["model"])}
        extents |= {"k": extents["q"], "v": extents["q"], "gate": extents["up"],
                    "side_table": extents["table"], "head": extents["tokens"]}
        if part in ("places", "globals"):
            rows = s["globals"] + ("lsg" in s) if part == "globals" else \
                2 * (s["position_buckets"] if s["position_buckets"] > 0 else s["reach"])
            shapes[name] = ((rows, s["model"]), False)
        elif part in ("positions", "types"):
            rows = s["types"] if part == "types" else \
                s["decoder_positions" if stack == "decoder" else "positions"]
            extra = FAMILIES[family][3] if family in ("bart", "mbart") else 0
            shapes[name] = ((rows + (extra if part == "positions" else 0), s["model"]), False)
        elif kind in extents:
            free = ("table", "side_table", "tokens", "head")
            plain = family in PLAIN and kind in "qkvo"
            shapes[name] = (extents[kind], biased and not plain and kind not in free)
        else:
            shapes[name] = ((s["model"],), biased)
    if settings["tied"] or family in ENCODERS:
        shapes.pop("head", None)
    if family in COMPUTED:
        shapes = {name: shape for name, shape in shapes.items() if ".positions" not in name}
    return shapes


def draw(settings, seed, root=None):
    """Random tensors by their names in the files: sums of products stay near 1."""
    random = numpy.random.default_rng(seed)
    family = settings["family"]
    names = names_of(settings, FAMILIES[family][1] if root is None else root)
    tensors = {}
    for name, (shape, biased) in shapes_of(settings).items():
        part = name.split(".")[-1]
        x = random.standard_normal(shape)
        if len(shape) == 1:
            x = 1 + x / 8
        elif part in ("positions", "types", "places", "globals"):
            x = x / 2
        elif part not in ("tokens", "table", "side_table"):
            x = x * 1.5 / shape[1] ** .5
        if part in ("tokens", "positions", "types") and settings.get("faint"):
            x = x / 256
        if part == "q" and family in RELATIVE:
            x = x / 4
        if part == "tokens" and family not in ENCODERS:
            x[settings["eos"]] *= 2             # sequences end, at different lengths
        tensors[names[name] + ".weight"] = x
        if biased:
            tensors[names[name] + ".bias"] = random.standard_normal(shape[0]) / 8
    if family in ("bart", "mbart", "led", "pegasus", "bigbird_pegasus"):
        tensors["final_logits_bias"] = random.standard_normal((1, settings["vocab"])) / 8
    return tensors


def save(folder, config, tensors, dtype="F32", shards=1, generation=None):
    """A folder as transformers writes it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    if shards == 1:
        (folder / "model.safetensors").write_bytes(weights_file(tensors, dtype))
        return folder
    names, where = list(tensors), {}
    for i in range(shards):
        name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        own = names[i::shards]
        where |= dict.fromkeys(own, name)
        (folder / name).write_bytes(weights_file({n: tensors[n] for n in own}, dtype))
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 0}, "weight_map": where}))
    return folder


def write(folder, variant, seed, dtype="F32", shards=1, generation=None, **changes):
    """A random checkpoint of a variant. Every other seed leaves out what stands before names."""
    settings = settings_of(variant, **changes)
    root = "" if seed % 2 and settings["family"] not in RELATIVE else None
    return save(folder, config_of(settings), draw(settings, seed, root), dtype, shards, generation)


def read(folder):
    """Settings, and tensors by the names that all families share, in binary64."""
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    extra = folder / "generation_config.json"
    if extra.exists():
        said = json.loads(extra.read_text())
        config |= {key: value for key, value in said.items() if value is not None}
    settings = parse_config(config)
    files = {}
    for path in sorted(folder.glob("model*.safetensors")):
        files |= read_weights(path)
    tensors = {}
    for root in (FAMILIES[settings["family"]][1], ""):
        for shared, name in names_of(settings, root).items():
            for part in (".weight", ".bias"):
                if name + part in files:
                    tensors.setdefault(shared + part, files[name + part])
    if "final_logits_bias" in files:
        tensors["head.bias"] = files["final_logits_bias"].ravel()
    return settings, tensors
