//===- Attention.cpp - Attention and rotary embeddings, from ONNX ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of com.microsoft come with the projection's bias, packed operands and
// masks in several forms; all become mp.attention with the pieces as operands.
// Not covered, left to mp.opaque: masks of [2 B] and [3 B + 2] (left padding,
// packed batches), 4-d integer masks, beam search (cache_indirection), a
// quantised cache.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Onnx/Lowering.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {
/// Everything mp.attention takes.
struct Attention {
  Value query, key, value, mask, bias, pastKey, pastValue, lengths, sink;
  int64_t heads = 0, keyHeads = 0;
  double scale = 0, softcap = 0;
  double maskValue = -kInfinity;
  bool causal = false, causalEnd = false, smooth = false, buffer = false;
  int64_t left = -1, right = -1, scoresMode = 0;
  TypeAttr softmaxType;

  mp::AttentionOp make(NodeContext &ctx, unsigned extras) const {
    return ctx.makeTyped<mp::AttentionOp>(
        ctx.unknownTypes(1 + extras), query, key, value, mask, bias, pastKey,
        pastValue, lengths, sink, heads, keyHeads, APFloat(scale),
        APFloat(softcap), APFloat(maskValue), causal, causalEnd, smooth, buffer,
        left, right, scoresMode, softmaxType);
  }
};
} // namespace

static LogicalResult needInputs(NodeContext &ctx, ArrayRef<unsigned> indices) {
  for (unsigned index : indices)
    if (!ctx.hasInput(index))
      return ctx.error("input " + Twine(index) + " is missing");
  return success();
}

/// Results besides the output: present key and value go with the scores.
static unsigned countExtras(const NodeContext &ctx) {
  if (ctx.hasOutput(3))
    return 3;
  return ctx.hasOutput(1) || ctx.hasOutput(2) ? 2 : 0;
}

static LogicalResult setOutputs(NodeContext &ctx, Operation *op) {
  for (OpResult result : op->getResults())
    if (ctx.hasOutput(result.getResultNumber()))
      ctx.setOutput(result.getResultNumber(), result);
  return success();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static DenseI64ArrayAttr ints(NodeContext &ctx, ArrayRef<int64_t> values) {
  return ctx.builder().getDenseI64ArrayAttr(values);
}

/// Consecutive parts along `axis`.
static SmallVector<Value> split(NodeContext &ctx, Value input,
                                ArrayRef<int64_t> sizes, int64_t axis) {
  auto op = ctx.makeTyped<mp::SplitOp>(ctx.unknownTypes(sizes.size()), input,
                                       Value(), axis, ints(ctx, sizes));
  return SmallVector<Value>(op->getResults());
}

/// `packed` [B, S, N, count, D] apart, each part as [B, S, N D].
static SmallVector<Value> unpack(NodeContext &ctx, Value packed,
                                 int64_t count) {
  SmallVector<Value> parts;
  Value shape = ctx.makeInts({0, 0, -1});
  for (Value part : split(ctx, packed, SmallVector<int64_t>(count, 1), 3)) {
    Value squeezed = ctx.make<mp::SqueezeOp>(part, Value(), ints(ctx, {3}));
    parts.push_back(ctx.make<mp::ReshapeOp>(squeezed, shape, false));
  }
  return parts;
}

static int64_t getLastDim(Value value) {
  MaybeShape shape = value ? getShape(value) : std::nullopt;
  return shape && !shape->empty() ? shape->back() : kDynamic;
}

/// The key padding masks of com.microsoft: [B] lengths, or 0 / 1 by key in
/// [B, T] or by query and key in [B, S, T]. False if it is another form.
static bool setPaddingMask(NodeContext &ctx, Value mask, Attention &attention) {
  if (!mask)
    return true;
  MaybeShape shape = getShape(mask);
  if (!shape || shape->empty() || shape->size() > 3)
    return false;
  if (shape->size() == 1) {
    // [B], [2 B] or [3 B + 2], distinguished by B.
    MaybeShape query = getShape(attention.query);
    int64_t batch = query && !query->empty() ? (*query)[0] : kDynamic;
    if (batch < 0 ? (*shape)[0] >= 0 : (*shape)[0] != batch)
      return false;
    attention.lengths = mask;
    return true;
  }
  Type boolean = ctx.builder().getI1Type();
  Value keep = ctx.makeTyped<mp::CastOp>({getTensorType(shape, boolean)}, mask)
                   .getResult();
  SmallVector<int64_t> axes = {1};
  if (shape->size() == 2)
    axes.push_back(2);
  attention.mask = ctx.make<mp::UnsqueezeOp>(keep, Value(), ints(ctx, axes));
  // Not infinite: a row without any key stays a number.
  attention.maskValue = ctx.getFloat("mask_filter_value", -10000.0);
  return true;
}

//===----------------------------------------------------------------------===//
// Attention of ONNX
//===----------------------------------------------------------------------===//

static LogicalResult lowerAttention(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  Attention attention;
  attention.query = ctx.input(0);
  attention.key = ctx.input(1);
  attention.value = ctx.input(2);
  attention.mask = ctx.input(3);
  attention.pastKey = ctx.input(4);
  attention.pastValue = ctx.input(5);
  attention.lengths = ctx.input(6);
  if (!attention.pastKey != !attention.pastValue)
    return ctx.error("past_key and past_value go together");
  attention.heads = ctx.getInt("q_num_heads", 0);
  attention.keyHeads = ctx.getInt("kv_num_heads", 0);
  attention.scale = ctx.getFloat("scale", 0.0);
  attention.softcap = ctx.getFloat("softcap", 0.0);
  attention.causal = ctx.getFlag("is_causal");
  // With an external cache the last query sees the last valid key.
  attention.causalEnd = attention.lengths && !attention.pastKey;
  attention.left = ctx.getInt("left_window_size", -1);
  attention.right = ctx.getInt("right_window_size", -1);
  attention.scoresMode = ctx.getInt("qk_matmul_output_mode", 0);
  if (std::optional<int64_t> dtype = ctx.findInt("softmax_precision"))
    if (Type type = ctx.elementTypeOf(*dtype))
      attention.softmaxType = TypeAttr::get(type);
  for (auto [operand, heads] : {std::pair(attention.query, attention.heads),
                                std::pair(attention.key, attention.keyHeads)})
    if (MaybeShape shape = getShape(operand);
        shape && shape->size() == 3 && heads < 1)
      return ctx.error("3-d inputs need q_num_heads and kv_num_heads");
  return setOutputs(ctx, attention.make(ctx, countExtras(ctx)));
}

//===----------------------------------------------------------------------===//
// Attention and MultiHeadAttention of com.microsoft
//===----------------------------------------------------------------------===//

/// Key and value of a past or present [2, B, N, P, D].
static std::pair<Value, Value> splitPast(NodeContext &ctx, Value past) {
  SmallVector<Value> parts = split(ctx, past, {1, 1}, 0);
  for (Value &part : parts)
    part = ctx.make<mp::SqueezeOp>(part, Value(), ints(ctx, {0}));
  return {parts[0], parts[1]};
}

static Value joinPresent(NodeContext &ctx, ValueRange extras) {
  SmallVector<Value> parts;
  for (Value part : extras.take_front(2))
    parts.push_back(ctx.make<mp::UnsqueezeOp>(part, Value(), ints(ctx, {0})));
  return ctx.make<mp::ConcatOp>(parts, 0);
}

/// (input, weights, bias, mask_index, past, attention_bias,
/// past_sequence_length) to (output, present).
static LogicalResult lowerMicrosoftAttention(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1})))
    return failure();
  // Rotation here computes its own tables.
  if (ctx.getFlag("do_rotary"))
    return ctx.unsupported();
  std::optional<int64_t> heads = ctx.findInt("num_heads");
  if (!heads || *heads < 1)
    return ctx.error("attribute num_heads is missing or not positive");
  SmallVector<int64_t> sizes = ctx.getInts("qkv_hidden_sizes");
  if (sizes.empty()) {
    int64_t total = getLastDim(ctx.input(1));
    if (total < 0)
      total = getLastDim(ctx.input(2));
    if (total < 0 || total % 3)
      return ctx.unsupported();
    sizes.assign(3, total / 3);
  }
  if (sizes.size() != 3)
    return ctx.error("qkv_hidden_sizes needs three entries");

  Attention attention;
  attention.query = ctx.input(0);
  attention.heads = attention.keyHeads = *heads;
  attention.scale = ctx.getFloat("scale", 0.0);
  attention.causal = ctx.getFlag("unidirectional");
  attention.buffer = ctx.getFlag("past_present_share_buffer");
  if (!setPaddingMask(ctx, ctx.input(3), attention))
    return ctx.unsupported();
  attention.bias = ctx.input(5);

  Value packed = ctx.make<mp::MatMulOp>(ctx.input(0), ctx.input(1), false,
                                        false, APFloat(1.0));
  if (Value bias = ctx.input(2))
    packed = ctx.make<mp::AddOp>(packed, bias);
  SmallVector<Value> parts = split(ctx, packed, sizes, -1);
  attention.query = parts[0];
  attention.key = parts[1];
  attention.value = parts[2];
  if (Value past = ctx.input(4))
    std::tie(attention.pastKey, attention.pastValue) = splitPast(ctx, past);
  bool present = ctx.hasOutput(1);
  mp::AttentionOp op = attention.make(ctx, present ? 2 : 0);
  ctx.setOutput(0, op.getResult());
  if (present)
    ctx.setOutput(1, joinPresent(ctx, op.getExtras()));
  return success();
}

/// Adds the projections' bias [q + k + v] to the operands of rank 3.
static LogicalResult addBias(NodeContext &ctx, Value bias,
                             Attention &attention) {
  Value *operands[] = {&attention.query, &attention.key, &attention.value};
  SmallVector<int64_t> sizes;
  for (Value *operand : operands) {
    MaybeShape shape = getShape(*operand);
    if (!shape || shape->back() < 0)
      return failure();
    // [B, N, T, D]: the key and value of cross attention.
    sizes.push_back(shape->size() == 4 ? (*shape)[1] * shape->back()
                                       : shape->back());
    if (sizes.back() < 0)
      return failure();
  }
  SmallVector<Value> parts = split(ctx, bias, sizes, 0);
  for (auto [operand, part] : llvm::zip(operands, parts))
    if (getShape(*operand)->size() == 3)
      *operand = ctx.make<mp::AddOp>(*operand, part);
  return success();
}

/// (query, key, value, bias, key_padding_mask, attention_bias, past_key,
/// past_value, past_sequence_length, cache_indirection) to (output,
/// present_key, present_value, scores).
static LogicalResult lowerMultiHeadAttention(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0})))
    return failure();
  std::optional<int64_t> heads = ctx.findInt("num_heads");
  if (!heads || *heads < 1)
    return ctx.error("attribute num_heads is missing or not positive");
  MaybeShape query = getShape(ctx.input(0));
  MaybeShape key = ctx.hasInput(1) ? getShape(ctx.input(1)) : std::nullopt;
  if (!query || ctx.hasInput(9))
    return ctx.unsupported();

  Attention attention;
  attention.query = ctx.input(0);
  attention.heads = attention.keyHeads = *heads;
  attention.scale = ctx.getFloat("scale", 0.0);
  attention.causal = ctx.getFlag("unidirectional");
  attention.bias = ctx.input(5);
  attention.pastKey = ctx.input(6);
  attention.pastValue = ctx.input(7);
  attention.buffer = attention.pastKey && ctx.hasInput(8);
  if (!setPaddingMask(ctx, ctx.input(4), attention))
    return ctx.unsupported();
  if (query->size() == 5) {
    SmallVector<Value> parts = unpack(ctx, ctx.input(0), 3);
    attention.query = parts[0];
    attention.key = parts[1];
    attention.value = parts[2];
  } else if (key && key->size() == 5) {
    SmallVector<Value> parts = unpack(ctx, ctx.input(1), 2);
    attention.key = parts[0];
    attention.value = parts[1];
  } else if (ctx.hasInput(1) && ctx.hasInput(2)) {
    attention.key = ctx.input(1);
    attention.value = ctx.input(2);
  } else {
    return ctx.error("needs a key and a value, or a packed query");
  }
  if (Value bias = ctx.input(3))
    if (failed(addBias(ctx, bias, attention)))
      return ctx.unsupported();
  return setOutputs(ctx, attention.make(ctx, countExtras(ctx)));
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

static Value rotate(NodeContext &ctx, Value value, int64_t heads) {
  return ctx.make<mp::RotaryEmbeddingOp>(
      value, ctx.input(7), ctx.input(8), ctx.input(9), heads,
      ctx.getInt("rotary_embedding_dim", 0), ctx.getFlag("rotary_interleaved"),
      APFloat(1.0));
}

/// Query, key and value: inputs, or the parts of one.
static LogicalResult takeProjections(NodeContext &ctx, Attention &attention) {
  attention.query = ctx.input(0);
  if (ctx.hasInput(1) && ctx.hasInput(2)) {
    attention.key = ctx.input(1);
    attention.value = ctx.input(2);
    return success();
  }
  int64_t total = getLastDim(ctx.input(0));
  int64_t count = attention.heads + 2 * attention.keyHeads;
  if (total < 0 || total % count)
    return ctx.unsupported();
  int64_t size = total / count;
  SmallVector<Value> parts =
      split(ctx, ctx.input(0),
            {attention.heads * size, attention.keyHeads * size,
             attention.keyHeads * size},
            -1);
  attention.query = parts[0];
  attention.key = parts[1];
  attention.value = parts[2];
  return success();
}

/// com.microsoft: (query, key, value, past_key, past_value, seqlens_k,
/// total_sequence_length, cos_cache, sin_cache, position_ids, attention_bias,
/// head_sink, ...) to (output, present_key, present_value, scores).
static LogicalResult lowerGroupQueryAttention(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 5})))
    return failure();
  Attention attention;
  attention.heads = ctx.getInt("num_heads", 0);
  attention.keyHeads = ctx.getInt("kv_num_heads", 0);
  if (attention.heads < 1 || attention.keyHeads < 1)
    return ctx.error("num_heads and kv_num_heads must be positive");
  // Scales of a quantised cache.
  if (ctx.hasInput(12) || ctx.hasInput(13))
    return ctx.unsupported();
  bool rotary = ctx.getFlag("do_rotary");
  if (rotary && (!ctx.hasInput(7) || !ctx.hasInput(8)))
    return ctx.error("do_rotary needs cos_cache and sin_cache");
  if (failed(takeProjections(ctx, attention)))
    return failure();
  if (rotary) {
    attention.query = rotate(ctx, attention.query, attention.heads);
    attention.key = rotate(ctx, attention.key, attention.keyHeads);
  }
  attention.pastKey = ctx.input(3);
  attention.pastValue = ctx.input(4);
  if (!attention.pastKey != !attention.pastValue)
    return ctx.error("past_key and past_value go together");
  attention.buffer = bool(attention.pastKey);
  attention.bias = ctx.input(10);
  attention.sink = ctx.input(11);
  attention.scale = ctx.getFloat("scale", 0.0);
  attention.softcap = ctx.getFloat("softcap", 0.0);
  attention.smooth = ctx.getInt("smooth_softmax", 0) == 1;
  attention.left = ctx.getInt("local_window_size", -1);
  attention.causal = true;
  attention.causalEnd = true;
  // The input holds the index of the last key.
  Type index = getElementType(ctx.input(5));
  if (!index.isInteger())
    index = ctx.builder().getI32Type();
  attention.lengths =
      ctx.make<mp::AddOp>(ctx.input(5), ctx.makeScalar(1, index));
  // qk_output: 1 before softmax, 2 after it.
  if (ctx.hasOutput(3))
    attention.scoresMode = ctx.getInt("qk_output", 0) == 2 ? 3 : 2;
  return setOutputs(ctx, attention.make(ctx, countExtras(ctx)));
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

static LogicalResult lowerRotaryEmbedding(NodeContext &ctx) {
  if (failed(needInputs(ctx, {0, 1, 2})))
    return failure();
  // (X, cos, sin, positions) in ONNX, (X, positions, cos, sin) in
  // com.microsoft.
  bool microsoft = ctx.domain() == "com.microsoft";
  if (microsoft && failed(needInputs(ctx, {3})))
    return failure();
  Value cos = ctx.input(microsoft ? 2 : 1), sin = ctx.input(microsoft ? 3 : 2),
        positions = ctx.input(microsoft ? 1 : 3);
  ctx.setOutput(
      0, ctx.make<mp::RotaryEmbeddingOp>(
             ctx.input(0), cos, sin, positions, ctx.getInt("num_heads", 0),
             ctx.getInt("rotary_embedding_dim", 0), ctx.getFlag("interleaved"),
             APFloat(ctx.getFloat("scale", 1.0))));
  return success();
}

void onnx_import::registerAttentionLowerings(LoweringRegistry &registry) {
  registry.add("Attention", lowerAttention);
  registry.add("com.microsoft", "Attention", lowerMicrosoftAttention);
  registry.add("com.microsoft", "MultiHeadAttention", lowerMultiHeadAttention);
  registry.add("com.microsoft", "GroupQueryAttention",
               lowerGroupQueryAttention);
  registry.add("RotaryEmbedding", lowerRotaryEmbedding);
  registry.add("com.microsoft", "RotaryEmbedding", lowerRotaryEmbedding);
}
