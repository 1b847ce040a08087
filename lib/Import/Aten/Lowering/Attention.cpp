//===- Attention.cpp - Attention, from aten -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dropout of the weights becomes dropout of the values: what it does to the
// range of their sums is the same (a weight that is dropped leaves 0 of its
// value), and the weights stay where no kernel of PyTorch stores them.
// A query whose keys are all masked gives 0, as since PyTorch 2.5
// (_safe_softmax, and the fused kernels agree); before it was NaN.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

Value aten::makeAttention(NodeContext &context, Value query, Value key,
                          Value value, Value mask, int64_t heads, double scale,
                          bool causal, bool maskedZero) {
  auto op = context.makeTyped<mp::AttentionOp>(
      context.unknownTypes(1), query, key, value, mask, /*bias=*/Value(),
      /*past_key=*/Value(), /*past_value=*/Value(), /*key_lengths=*/Value(),
      /*sink=*/Value(), heads, heads, APFloat(scale), /*softcap=*/APFloat(0.0),
      APFloat(-kInfinity), causal,
      /*causal_end=*/false, /*smooth_softmax=*/false, /*cache_buffer=*/false,
      /*left_window=*/-1, /*right_window=*/-1, /*scores_mode=*/0, TypeAttr());
  if (maskedZero)
    op->setAttr(kMaskedZeroAttr, context.builder().getUnitAttr());
  return op.getResult();
}

static LogicalResult lowerAttention(NodeContext &context) {
  Value query = context.tensor("query"), key = context.tensor("key"),
        value = context.tensor("value"),
        mask = context.tensor(oneOf(context, "attn_mask", "attn_bias"));
  for (StringRef name : {"dropout_p", "is_causal", "scale", "enable_gqa"})
    if (!query || !key || !value || context.isDynamic(name))
      return context.unsupported();
  // The logarithms of the sums go to the backward pass only.
  if (context.numOutputs() != 1)
    return context.unsupported();
  if (mask && isIntegral(mask))
    mask = context.cast(mask, context.builder().getI1Type());
  double ratio = context.getNumber("dropout_p", 0);
  if (ratio < 0 || ratio > 1)
    return context.unsupported();
  if (ratio > 0)
    value = context.make<mp::DropoutOp>(
        value, Value(), Value(), context.builder().getF64FloatAttr(ratio),
        context.builder().getUnitAttr(), IntegerAttr());
  context.setOutput(0, makeAttention(context, query, key, value, mask,
                                     /*heads=*/0, context.getNumber("scale", 0),
                                     context.getBool("is_causal"),
                                     /*maskedZero=*/true));
  return success();
}

void mpopt::aten::registerAttention(LoweringRegistry &registry) {
  registry.add("scaled_dot_product_attention", lowerAttention);
  registerEncoderLayer(registry);
}
