"""Twelve decoders of transformers beside Llama, Mistral, Qwen2, Gemma, GPT-2 and GPT-NeoX.

Chosen for what they do otherwise: parallel residuals (Phi, Cohere, Falcon, GPT-J), norms of
queries and keys (OLMo 2, Qwen3), norms after the blocks (OLMo 2), norms without weights (OLMo),
multipliers (Granite, Cohere), ALiBi (BLOOM), learned positions and biases (OPT), one key for all
heads (Falcon), tied heads.
"""

from __future__ import annotations

from typing import Any

from stack_table import VOCABULARY, Stack, Task, language_model, transformers_model

#: What most configurations call alike.
COMMON = dict(vocab_size=VOCABULARY, hidden_size=128, intermediate_size=352, num_attention_heads=4,
              max_position_embeddings=128, pad_token_id=None, bos_token_id=None, eos_token_id=None)
GROUPED = COMMON | dict(num_key_value_heads=2)
#: GPT-J's generation and its heirs.
OLD = dict(vocab_size=VOCABULARY, n_embd=128, n_head=4, n_positions=128, bos_token_id=None, eos_token_id=None)


def decoder(name: str, prefix: str, config: str, options: dict[str, Any], length: int = 40,
            depth: str = "num_hidden_layers", variants: tuple[str, ...] = (),
            group: str = "decoders") -> Stack:
    def make(layers: int) -> Task:
        return language_model(
            transformers_model(f"{prefix}ForCausalLM", f"{config}Config", **options, **{depth: layers}), length)

    return Stack(name, group, make, variants)


STACKS = [
    decoder("phi", "Phi", "Phi", COMMON, 48, variants=("scaled", "outlier")),
    decoder("olmo", "Olmo", "Olmo", GROUPED, 32),
    decoder("olmo2", "Olmo2", "Olmo2", GROUPED, variants=("scaled",)),
    decoder("stablelm", "StableLm", "StableLm", GROUPED | dict(hidden_size=192, num_attention_heads=6)),
    decoder("granite", "Granite", "Granite", GROUPED | dict(
        embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=1 / 32),
        48, variants=("outlier",)),
    decoder("cohere", "Cohere", "Cohere", GROUPED | dict(hidden_size=160)),
    decoder("falcon", "Falcon", "Falcon", dict(
        vocab_size=VOCABULARY, hidden_size=128, num_attention_heads=4, bos_token_id=None, eos_token_id=None)),
    decoder("gptj", "GPTJ", "GPTJ", OLD | dict(rotary_dim=16), depth="n_layer"),
    decoder("opt", "OPT", "OPT", dict(
        vocab_size=VOCABULARY, hidden_size=160, ffn_dim=512, num_attention_heads=5, word_embed_proj_dim=160,
        max_position_embeddings=128), 32, variants=("scaled", "outlier")),
    decoder("bloom", "Bloom", "Bloom", dict(vocab_size=VOCABULARY, hidden_size=128, n_head=4), depth="n_layer"),
    decoder("qwen3", "Qwen3", "Qwen3", GROUPED | dict(head_dim=32), 48, variants=("scaled", "outlier")),
    decoder("starcoder2", "Starcoder2", "Starcoder2", GROUPED | dict(hidden_size=192, num_attention_heads=6)),
]
