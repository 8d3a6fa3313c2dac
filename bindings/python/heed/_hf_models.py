# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers whose attention modules do not ask the AttentionInterface: classes of
them that do. BLOOM's is put in its place by transformers' own patch mapping, while a model is made
from a configuration or a checkpoint; those of Falcon and GPT-J stand in tables of their files, by
the name of the implementation."""

from __future__ import annotations

import torch
from transformers import monkey_patching
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bloom import modeling_bloom
from transformers.models.falcon import modeling_falcon
from transformers.models.gptj import modeling_gptj

from ._hf_masks import NAME, Mask, Refused


def attention(module, query, key, value, mask, **given):
    """What is registered as heed's attention."""
    return ALL_ATTENTION_FUNCTIONS[NAME](module, query, key, value, mask, **given)


class BloomAttention(modeling_bloom.BloomAttention):
    """Its linear biases are a row for each head, which is added as it is."""

    def forward(self, hidden_states, residual, alibi, attention_mask, layer_past=None,
                use_cache=False, output_attentions=False, **kwargs):
        if type(attention_mask) is not Mask:    # another implementation was chosen
            return super().forward(hidden_states, residual, alibi, attention_mask, layer_past,
                                   use_cache, output_attentions, **kwargs)
        if self.pretraining_tp > 1 and self.slow_but_exact:
            raise Refused("does not slice BLOOM's projections: slow_but_exact wants 'eager'")
        q, k, v = self._reshape(self.query_key_value(hidden_states))
        if layer_past is not None:
            k, v = layer_past.update(k, v, self.layer_idx)
        out, _ = attention(self, q, k, v, attention_mask, scaling=self.inv_norm_factor,
                           dropout=self.attention_dropout.p if self.training else 0.0,
                           position_bias=alibi.view(len(q), self.num_heads, 1, -1),
                           output_attentions=output_attentions)
        out = torch.nn.functional.dropout(self.dense(out.flatten(2)), p=self.hidden_dropout,
                                          training=self.training)
        return out + residual, None


class FalconAttention(modeling_falcon.FalconAttention):
    """With rotary positions."""

    def forward(self, hidden_states, alibi, attention_mask, position_ids=None, layer_past=None,
                use_cache=False, output_attentions=False, position_embeddings=None, **kwargs):
        if alibi is not None:
            raise Refused("does not take Falcon's linear biases: transformers' own "
                          "implementations differ on them")
        q, k, v = (x.transpose(1, 2) for x in
                   self._split_heads(self.query_key_value(hidden_states)))
        q, k = modeling_falcon.apply_rotary_pos_emb(q, k, *position_embeddings)
        if layer_past is not None:
            k, v = layer_past.update(k, v, self.layer_idx)
        out, _ = attention(self, q, k, v, attention_mask, scaling=self.inv_norm_factor,
                           output_attentions=output_attentions)
        return self.dense(out.flatten(2)), None


class GPTJAttention(modeling_gptj.GPTJAttention):
    def _attn(self, query, key, value, attention_mask=None):
        out, _ = attention(self, query, key, value, attention_mask,
                           scaling=float(1 / self.scale_attn),
                           dropout=self.attn_dropout.p if self.training else 0.0)
        return out.transpose(1, 2), None


def register():
    """Puts the classes where transformers finds them."""
    if "BloomAttention" not in monkey_patching.get_patch_mapping():
        monkey_patching.register_patch_mapping({"BloomAttention": BloomAttention})
    modeling_falcon.FALCON_ATTENTION_CLASSES[NAME] = FalconAttention
    modeling_gptj.GPTJ_ATTENTION_CLASSES[NAME] = GPTJAttention
