//===- EncoderLayer.cpp - PyTorch's fast path for transformers ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that nn.MultiheadAttention and nn.TransformerEncoderLayer call in
// inference: whole layers as one op, decomposed here. Masks are true where
// nothing is to be seen. Not covered: the attention weights as a result, float
// masks. Source: aten/src/ATen/native/transformers/{attention,transformer}.cpp.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
enum class Mask { None, Unsupported, Given };
} // namespace

/// The mask as mp.attention has it (true: is seen), broadcast to [N, H, L, L].
static Mask readMask(NodeContext &context, Value &seen) {
  Value mask = context.tensor("mask");
  if (!mask)
    return Mask::None;
  std::optional<int64_t> kind = context.findInt("mask_type");
  if (!kind || !getElementType(mask).isSignlessInteger(1))
    return Mask::Unsupported;
  // 0: [L, L], 1: [N, L] of padding, 2: [N, H, L, L].
  if (*kind == 1)
    mask =
        context.make<mp::UnsqueezeOp>(mask, Value(), intsAttr(context, {1, 2}));
  seen = context.make<mp::LogicalNotOp>(mask);
  return Mask::Given;
}

/// The projections of query, key and value, by one product where they are one
/// tensor.
static SmallVector<Value> makeProjections(NodeContext &context, Value query,
                                          Value key, Value value,
                                          int64_t width) {
  Value weight = context.tensor("qkv_weight"),
        bias = context.tensor("qkv_bias");
  SmallVector<Value> results;
  if (query == key && key == value) {
    Value all = context.make<mp::LinearOp>(query, weight, bias);
    for (int64_t part = 0; part < 3; ++part)
      results.push_back(
          slice(context, all, -1, part * width, (part + 1) * width));
    return results;
  }
  for (auto [part, input] : llvm::enumerate(ArrayRef{query, key, value})) {
    int64_t start = int64_t(part) * width, end = start + width;
    results.push_back(
        context.make<mp::LinearOp>(input, slice(context, weight, 0, start, end),
                                   slice(context, bias, 0, start, end)));
  }
  return results;
}

/// Null if this form is not covered.
static Value makeMultiHead(NodeContext &context, Value query, Value key,
                           Value value, StringRef headsName) {
  std::optional<int64_t> width = context.findInt("embed_dim"),
                         heads = context.findInt(headsName);
  Value weight = context.tensor("qkv_weight"),
        bias = context.tensor("qkv_bias"),
        outWeight = context.tensor("proj_weight"), mask;
  if (!query || !key || !value || !width || !heads || *heads < 1 || !weight ||
      !bias || !outWeight || NodeContext::rankOf(query) != 3 ||
      readMask(context, mask) == Mask::Unsupported)
    return {};
  SmallVector<Value> parts =
      makeProjections(context, query, key, value, *width);
  Value seen = makeAttention(context, parts[0], parts[1], parts[2], mask,
                             *heads, 0, false);
  return context.make<mp::LinearOp>(seen, outWeight,
                                    context.tensor("proj_bias"));
}

static LogicalResult lowerMultiHead(NodeContext &context) {
  if (context.isDynamic("need_weights") ||
      context.getBool("need_weights", true))
    return context.unsupported();
  Value result =
      makeMultiHead(context, context.tensor("query"), context.tensor("key"),
                    context.tensor("value"), "num_head");
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  // No weights: a tensor without elements stands for them.
  context.setOutput(1, fill(context, context.makeInts({0}), 0,
                            context.builder().getF32Type()));
  return success();
}

/// LayerNorm number `number` over the last dim.
static Value makeNorm(NodeContext &context, Value input, StringRef number) {
  return context.make<mp::LayerNormOp>(
      input, context.tensor(("norm_weight_" + number).str()),
      context.tensor(("norm_bias_" + number).str()), -1,
      APFloat(context.getNumber("eps", 1e-5)), TypeAttr());
}

static LogicalResult lowerEncoderLayer(NodeContext &context) {
  Value source = context.tensor("src");
  for (StringRef name : {"use_gelu", "norm_first", "eps"})
    if (!source || context.isDynamic(name))
      return context.unsupported();
  for (StringRef name : {"ffn_weight_1", "ffn_weight_2", "norm_weight_1",
                         "norm_weight_2", "norm_bias_1", "norm_bias_2"})
    if (!context.tensor(name))
      return context.unsupported();
  bool normFirst = context.getBool("norm_first");
  Value input = normFirst ? makeNorm(context, source, "1") : source;
  Value attended = makeMultiHead(context, input, input, input, "num_heads");
  if (!attended)
    return context.unsupported();
  Value sum = context.make<mp::AddOp>(source, attended);
  if (!normFirst)
    sum = makeNorm(context, sum, "1");
  Value hidden = context.make<mp::LinearOp>(
      normFirst ? makeNorm(context, sum, "2") : sum,
      context.tensor("ffn_weight_1"), context.tensor("ffn_bias_1"));
  hidden = context.getBool("use_gelu")
               ? context.make<mp::GeluOp>(hidden, "none")
               : context.make<mp::ReluOp>(hidden);
  hidden = context.make<mp::LinearOp>(hidden, context.tensor("ffn_weight_2"),
                                      context.tensor("ffn_bias_2"));
  Value result = context.make<mp::AddOp>(sum, hidden);
  context.setOutput(0, normFirst ? result : makeNorm(context, result, "2"));
  return success();
}

void mpopt::aten::registerEncoderLayer(LoweringRegistry &registry) {
  registry.add("_native_multi_head_attention", lowerMultiHead);
  registry.add("_transformer_encoder_layer_fwd", lowerEncoderLayer);
}
