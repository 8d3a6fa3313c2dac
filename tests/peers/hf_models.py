# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Small models of transformers, with random weights that make attention matter."""

import copy

import heed.transformers
import torch
import transformers as hf
from transformers.modeling_utils import AttentionInterface

heed.transformers.register()
WINDOW, TOKENS = 12, 97
BASE = {"vocab_size": TOKENS, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "initializer_range": 0.2}
PLAIN = {**BASE, "intermediate_size": 128, "max_position_embeddings": 256}
GROUPED = {**PLAIN, "num_key_value_heads": 2}
NARROW = {**GROUPED, "head_dim": 16}
MIXED = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
GPT = {"vocab_size": TOKENS, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256,
       "initializer_range": 0.2}
PAIR = {"vocab_size": TOKENS, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128,
        "decoder_ffn_dim": 128, "max_position_embeddings": 256, "init_std": 0.2,
        "pad_token_id": 1, "forced_eos_token_id": None}
T5 = {"vocab_size": TOKENS, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2,
      "num_heads": 4, "decoder_start_token_id": 0, "initializer_factor": 5.0,
      "relative_attention_max_distance": 16, "relative_attention_num_buckets": 8}

DECODERS = {
    "Mistral, windows": lambda: hf.MistralConfig(**GROUPED, sliding_window=WINDOW),
    "Llama": lambda: hf.LlamaConfig(**GROUPED),
    "Llama, one key head": lambda: hf.LlamaConfig(**{**GROUPED, "num_key_value_heads": 1}),
    "Qwen2": lambda: hf.Qwen2Config(**GROUPED),
    "Qwen3": lambda: hf.Qwen3Config(**NARROW),
    "Gemma 2": lambda: hf.Gemma2Config(**NARROW, sliding_window=WINDOW, query_pre_attn_scalar=20,
                                       attn_logit_softcapping=3.0),
    "Gemma 3": lambda: hf.Gemma3TextConfig(**NARROW, **MIXED),
    "GPT-OSS": lambda: hf.GptOssConfig(**NARROW, **MIXED, num_local_experts=4,
                                       num_experts_per_tok=2),
    "Phi 3": lambda: hf.Phi3Config(**GROUPED, pad_token_id=0, sliding_window=WINDOW),
    "GPT-NeoX": lambda: hf.GPTNeoXConfig(**PLAIN),
    "GPT-2": lambda: hf.GPT2Config(**GPT),
    "GPT-J": lambda: hf.GPTJConfig(**GPT, rotary_dim=8),
    "OPT": lambda: hf.OPTConfig(**BASE, ffn_dim=128, max_position_embeddings=256, init_std=0.2,
                                word_embed_proj_dim=64),
    "Falcon": lambda: hf.FalconConfig(**BASE, new_decoder_architecture=True, num_kv_heads=2),
    "Falcon, one key head": lambda: hf.FalconConfig(**BASE),
    "BLOOM": lambda: hf.BloomConfig(vocab_size=TOKENS, hidden_size=64, n_layer=2, n_head=4,
                                    initializer_range=0.2),
    "Cohere 2": lambda: hf.Cohere2Config(**GROUPED, **MIXED),
    "Mixtral": lambda: hf.MixtralConfig(**GROUPED, num_local_experts=4),
    "Llama 4, chunks": lambda: hf.Llama4TextConfig(
        **NARROW, attention_chunk_size=WINDOW, num_local_experts=2, intermediate_size_mlp=64),
    "DeepSeek 3": lambda: hf.DeepseekV3Config(
        **{**GROUPED, "num_key_value_heads": 4}, moe_intermediate_size=32, n_routed_experts=4,
        num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, q_lora_rank=32,
        kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12),
}
PAIRS = {
    "T5": lambda: hf.T5Config(**T5),
    "mT5": lambda: hf.MT5Config(**T5),
    "BART": lambda: hf.BartConfig(**PAIR),
}
ENCODERS = {
    "BERT": lambda: hf.BertConfig(**PLAIN),
    "RoBERTa": lambda: hf.RobertaConfig(**PLAIN),
    "ALBERT": lambda: hf.AlbertConfig(**PLAIN, embedding_size=64),
    "ModernBERT, windows": lambda: hf.ModernBertConfig(**PLAIN, local_attention=WINDOW,
                                                       pad_token_id=0),
    "Gemma 3, both sides": lambda: hf.Gemma3TextConfig(**NARROW, **MIXED,
                                                       use_bidirectional_attention=True),
}
KINDS = {**dict.fromkeys(DECODERS, hf.AutoModelForCausalLM),
         **dict.fromkeys(PAIRS, hf.AutoModelForSeq2SeqLM), **dict.fromkeys(ENCODERS, hf.AutoModel)}
CONFIGS = {**DECODERS, **PAIRS, **ENCODERS}


def make(name, implementation="heed", dtype=torch.float32):
    """A model by its name above, in evaluation; of one name all have the same weights."""
    torch.manual_seed(1)
    model = KINDS[name].from_config(copy.deepcopy(CONFIGS[name]()),
                                    attn_implementation=implementation)
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "sinks" in key:
                weight.normal_()
    return model.to(dtype).eval()


def prompts(items, length, padded="", seed=5):
    """Token ids and their mask; padded: "left" or "right", by another count for each item."""
    made = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, TOKENS, (items, length), generator=made)
    there = torch.ones_like(ids)
    for item in range(1, items if padded else 0):
        count = 1 + 4 * item
        there[item, slice(None, count) if padded == "left" else slice(-count, None)] = 0
    return ids, there


class Counted:
    """Counts the attentions that heed computes while it is entered, and hands each to `see`."""

    def __init__(self, see=None):
        self.calls, self.see = 0, see

    def __call__(self, module, *args, **kwargs):
        self.calls += 1
        out = heed.transformers.attention(module, *args, **kwargs)
        if self.see:
            self.see(module, out[0], *args, **kwargs)
        return out

    def __enter__(self):
        AttentionInterface.register("heed", self)
        return self

    def __exit__(self, *_):
        heed.transformers.register()
