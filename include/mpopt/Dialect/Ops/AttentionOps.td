//===- AttentionOps.td - Attention and rotary embedding ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_OPS_ATTENTIONOPS_TD
#define MPOPT_DIALECT_OPS_ATTENTIONOPS_TD

include "mpopt/Dialect/MPDialect.td"

def MP_AttentionOp : MP_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let roles = [RoleAttention];
  let summary = "softmax(scale q k^T + mask + bias) v, by head";
  let description = [{
    **Layout.** `query` is [B, H, S, D] or [B, S, H D]; `key` [B, G, T, D] or
    [B, T, G D]; `value` [B, G, T, E] or [B, T, G E]; each by its own rank. In a
    rank-3 operand heads are side by side in the last dim, H = `num_heads` and
    G = `kv_num_heads` (0: H). Any other rank, and rank 3 with `num_heads` 0, has
    no head dim: [..., S, D] with leading dims that broadcast. G divides H; each
    key head serves H / G query heads. The result has `query`'s layout with E for
    D.

    **Past.** `past_key` [B, G, P, D] and `past_value` [B, G, P, E] come before
    key and value, so that softmax runs over P + T keys. With `cache_buffer` they
    are buffers that may be longer than what is in them: new keys are written
    where `key_lengths` ends, and the present ones' length is not known.

    **Scores.** s = `scale` q k^T (`scale` 0 means 1 / sqrt(D)); with `softcap`
    c > 0, s = c tanh(s / c); then `mask` and `bias`, both broadcast to
    [B, H, S, P + T]: a boolean `mask` keeps s where true and adds `mask_value`
    (-inf) elsewhere, a float one and `bias` are added.
    `key_lengths` [B]: keys from there on are masked. `is_causal`: query i sees
    keys up to i + P (`causal_end`: aligned to the last key instead).
    `left_window` and `right_window`, if not negative, bound the distance.
    `sink` [H], or `smooth_softmax` for 0, adds exp(sink) to the denominator.
    softmax runs in `softmax_type`, absent: at least FP32 for 16-bit scores.

    **Results.** First the output; then none, or present key and value
    [B, G, P + T, ...]; then maybe the scores [B, H, S, P + T]: by `scores_mode`
    0 after `scale`, 1 after `softcap`, 2 after masking, 3 after softmax.

    Source: ONNX Attention; torch scaled_dot_product_attention; com.microsoft
    MultiHeadAttention and GroupQueryAttention.
  }];
  let arguments = (ins MP_Tensor:$query, MP_Tensor:$key, MP_Tensor:$value,
    Optional<MP_Tensor>:$mask, Optional<MP_Tensor>:$bias,
    Optional<MP_Tensor>:$past_key, Optional<MP_Tensor>:$past_value,
    Optional<MP_Tensor>:$key_lengths, Optional<MP_Tensor>:$sink,
    DefaultValuedAttr<I64Attr, "0">:$num_heads,
    DefaultValuedAttr<I64Attr, "0">:$kv_num_heads,
    DefaultValuedAttr<F64Attr, "0.0">:$scale,
    DefaultValuedAttr<F64Attr, "0.0">:$softcap,
    DefaultValuedAttr<F64Attr,
      "-std::numeric_limits<double>::infinity()">:$mask_value,
    UnitAttr:$is_causal, UnitAttr:$causal_end, UnitAttr:$smooth_softmax,
    UnitAttr:$cache_buffer,
    DefaultValuedAttr<I64Attr, "-1">:$left_window,
    DefaultValuedAttr<I64Attr, "-1">:$right_window,
    DefaultValuedAttr<I64Attr, "0">:$scores_mode,
    OptionalAttr<TypeAttr>:$softmax_type);
  let results = (outs MP_Tensor:$result, Variadic<MP_Tensor>:$extras);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`bias` $bias^)?
    (`past` $past_key^ `,` $past_value)? (`lengths` $key_lengths^)?
    (`sink` $sink^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let torch = ["scaled_dot_product_attention",
               "_scaled_dot_product_flash_attention",
               "_native_multi_head_attention"];
  let tensorflow = ["Mha", "MhaV2"];
  let onnx = ["Attention", "MultiHeadAttention", "GroupQueryAttention"];
}

def MP_RotaryEmbeddingOp : MP_Op<"rotary_embedding", [Pure]> {
  let degree = "1";
  let summary = "rotates pairs of features by an angle of their position";
  let description = [{
    `input` [B, H, S, D], or [B, S, H D] with `num_heads` H. Of the first
    `rotary_dim` features of a head (0: all) the pairs (x1, x2) - halves, or
    neighbours if `interleaved` - become (x1 cos - x2 sin, x1 sin + x2 cos), the
    others stay. `cos` and `sin` are [max positions, rotary_dim / 2], with the
    row of `positions` ([B, S], [B] or [1]: of the first), or [B, S,
    rotary_dim / 2]. Two-dim tables without `positions`: the positions follow
    those that an attention's past holds and may be any row.
    Source: ONNX and com.microsoft RotaryEmbedding.
  }];
  let arguments = (ins MP_Tensor:$input, MP_Tensor:$cos, MP_Tensor:$sin,
    Optional<MP_Tensor>:$positions, DefaultValuedAttr<I64Attr, "0">:$num_heads,
    DefaultValuedAttr<I64Attr, "0">:$rotary_dim,
    DefaultValuedAttr<BoolAttr, "false">:$interleaved,
    DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs MP_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin (`at` $positions^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let onnx = ["RotaryEmbedding"];
}

#endif // MPOPT_DIALECT_OPS_ATTENTIONOPS_TD
