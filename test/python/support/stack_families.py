"""Stacks of transformers that are no plain decoders: with an encoder, of images and sound, of
experts, with state, with norms elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from stack_decoders import COMMON, GROUPED, OLD, decoder
from stack_table import BATCH, VOCABULARY, Stack, Task, language_model, tokens, transformers_model
from torch import nn

CLASSES = 50
WIDE = dict(hidden_size=128, num_attention_heads=4, intermediate_size=384)


def images(size: int) -> torch.Tensor:
    return torch.randn(BATCH, 3, size, size)


def classes() -> torch.Tensor:
    return torch.randint(0, CLASSES, (BATCH,))


#
# Encoder and decoder
#


def translate(net: nn.Module, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return net(input_ids=source, decoder_input_ids=target, use_cache=False).logits


def translator(net: nn.Module, before: int = 40, after: int = 32) -> Task:
    """From tokens to tokens."""
    return Task(net, (tokens(before), tokens(after)), tokens(after), translate)


def t5(layers: int) -> Task:
    return translator(transformers_model(
        "T5ForConditionalGeneration", "T5Config", vocab_size=VOCABULARY, d_model=128, d_kv=32, d_ff=384,
        num_heads=4, num_layers=layers, num_decoder_layers=layers))


BART = dict(vocab_size=VOCABULARY, d_model=128, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=384, decoder_ffn_dim=384, max_position_embeddings=64)


def bart(layers: int) -> Task:
    return translator(transformers_model("BartForConditionalGeneration", "BartConfig", **BART,
                                         encoder_layers=layers, decoder_layers=layers))


def pegasus(layers: int) -> Task:
    return translator(transformers_model("PegasusForConditionalGeneration", "PegasusConfig", **BART,
                                         encoder_layers=layers, decoder_layers=layers), 32, 40)


def transcribe(net: nn.Module, sound: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return net(input_features=sound, decoder_input_ids=target, use_cache=False).logits


def whisper(layers: int) -> Task:
    net = transformers_model(
        "WhisperForConditionalGeneration", "WhisperConfig", **BART | dict(max_position_embeddings=None),
        num_mel_bins=40, max_source_positions=48, max_target_positions=64, encoder_layers=layers,
        decoder_layers=layers, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None)
    return Task(net, (torch.randn(BATCH, 40, 96), tokens(32)), tokens(32), transcribe)


#
# Images and sound
#


def classify_image(net: nn.Module, pixels: torch.Tensor) -> torch.Tensor:
    return net(pixel_values=pixels).logits


def vit(layers: int) -> Task:
    net = transformers_model("ViTForImageClassification", "ViTConfig", **WIDE, num_hidden_layers=layers,
                             image_size=48, patch_size=8, num_labels=CLASSES)
    return Task(net, (images(48),), classes(), classify_image)


def dinov2(layers: int) -> Task:
    net = transformers_model("Dinov2ForImageClassification", "Dinov2Config", hidden_size=128, mlp_ratio=3,
                             num_attention_heads=4, num_hidden_layers=layers, image_size=48, patch_size=8,
                             num_labels=CLASSES)
    return Task(net, (images(48),), classes(), classify_image)


def swin(layers: int) -> Task:
    """Two blocks at full resolution, the others at half of it."""
    net = transformers_model("SwinForImageClassification", "SwinConfig", image_size=64, patch_size=4, embed_dim=64,
                             depths=(2, layers - 2), num_heads=(2, 4), window_size=4, num_labels=CLASSES)
    return Task(net, (images(64),), classes(), classify_image)


def classify_sound(net: nn.Module, samples: torch.Tensor) -> torch.Tensor:
    return net(input_values=samples).logits


#: Four convolutions, 32 samples a frame.
FRONT = dict(conv_dim=(64,) * 4, conv_stride=(4, 2, 2, 2), conv_kernel=(10, 3, 3, 2), num_feat_extract_layers=4,
             num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, num_labels=CLASSES,
             classifier_proj_size=64)


def sound_encoder(prefix: str, **options: Any):
    def make(layers: int) -> Task:
        net = transformers_model(f"{prefix}ForSequenceClassification", f"{prefix}Config", **WIDE, **FRONT,
                                 num_hidden_layers=layers, **options)
        return Task(net, (torch.randn(BATCH, 1500),), classes(), classify_sound)
    return make


def spectrogram(layers: int) -> Task:
    net = transformers_model("ASTForAudioClassification", "ASTConfig", **WIDE, num_hidden_layers=layers,
                             patch_size=8, frequency_stride=8, time_stride=8, max_length=96, num_mel_bins=32,
                             num_labels=CLASSES)
    return Task(net, (torch.randn(BATCH, 96, 32),), classes(), classify_sound)


#
# State
#


def mamba(layers: int) -> Task:
    return language_model(transformers_model(
        "MambaForCausalLM", "MambaConfig", vocab_size=VOCABULARY, hidden_size=128, state_size=8,
        num_hidden_layers=layers), 32)


def mamba2(layers: int) -> Task:
    return language_model(transformers_model(
        "Mamba2ForCausalLM", "Mamba2Config", vocab_size=VOCABULARY, hidden_size=128, state_size=16, num_heads=8,
        head_dim=32, n_groups=1, chunk_size=16, num_hidden_layers=layers), 32)


def rwkv(layers: int) -> Task:
    """Of 16 positions: its loop over them becomes ops of their own. Not rescaled: a forward pass
    would divide weights in place, and a program that does has weights of any value."""
    return language_model(transformers_model(
        "RwkvForCausalLM", "RwkvConfig", vocab_size=VOCABULARY, hidden_size=128, attention_hidden_size=128,
        intermediate_size=384, context_length=16, rescale_every=0, num_hidden_layers=layers), 16)


#
# Norms after the sum
#


def bert(layers: int) -> Task:
    return language_model(transformers_model(
        "BertForMaskedLM", "BertConfig", vocab_size=VOCABULARY, **WIDE, max_position_embeddings=64,
        num_hidden_layers=layers), 48)


def roberta(layers: int) -> Task:
    return language_model(transformers_model(
        "RobertaForMaskedLM", "RobertaConfig", vocab_size=VOCABULARY, **WIDE, max_position_embeddings=64,
        num_hidden_layers=layers), 40)


GPT1 = OLD | dict(afn="gelu")
#: Weights gathered by token, in ops of aten; the default is an op of the library's own.
BATCHED = dict(experts_implementation="batched_mm")
EXPERTS = GROUPED | dict(intermediate_size=256, num_experts_per_tok=2)
HEADS = GROUPED | dict(head_dim=32, query_pre_attn_scalar=32, sliding_window=16)

STACKS = [
    Stack("t5", "encoder-decoder", t5),
    Stack("bart", "encoder-decoder", bart, ("scaled",)),
    Stack("pegasus", "encoder-decoder", pegasus),
    Stack("whisper", "encoder-decoder", whisper),
    Stack("vit", "vision", vit, ("scaled",)),
    Stack("dinov2", "vision", dinov2),
    Stack("swin", "vision", swin),
    Stack("wav2vec2", "audio", sound_encoder("Wav2Vec2")),
    Stack("hubert", "audio", sound_encoder("Hubert", do_stable_layer_norm=True, feat_extract_norm="layer")),
    Stack("ast", "audio", spectrogram),
    decoder("mixtral", "Mixtral", "Mixtral", EXPERTS | BATCHED | dict(num_local_experts=4), variants=("outlier",),
            group="experts"),
    decoder("mixtral-grouped", "Mixtral", "Mixtral", EXPERTS | dict(num_local_experts=4), group="experts"),
    decoder("qwen2-moe", "Qwen2Moe", "Qwen2Moe", EXPERTS | BATCHED | dict(
        num_experts=8, moe_intermediate_size=96, shared_expert_intermediate_size=256), group="experts"),
    decoder("olmoe", "Olmoe", "Olmoe", EXPERTS | BATCHED | dict(num_experts=8, intermediate_size=128), group="experts"),
    Stack("mamba", "state", mamba, ("outlier",)),
    Stack("mamba2", "state", mamba2),
    Stack("rwkv", "state", rwkv),
    decoder("codegen", "CodeGen", "CodeGen", OLD | dict(rotary_dim=16), depth="n_layer", group="parallel"),
    decoder("cohere2", "Cohere2", "Cohere2", GROUPED | dict(sliding_window=16), group="parallel"),
    Stack("bert", "post-norm", bert, ("scaled", "outlier")),
    Stack("roberta", "post-norm", roberta),
    Stack("gpt1", "post-norm", lambda layers: language_model(
        transformers_model("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", **GPT1, n_layer=layers), 40)),
    decoder("gemma2", "Gemma2", "Gemma2", HEADS, group="sandwich", variants=("scaled",)),
    decoder("gemma3", "Gemma3", "Gemma3Text", HEADS, group="sandwich"),
    decoder("glm4", "Glm4", "Glm4", GROUPED | dict(head_dim=32), group="sandwich"),
]
