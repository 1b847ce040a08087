//===- Loss.cpp - Losses, from aten ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses that PyTorch writes in Python (gaussian_nll_loss,
// multilabel_soft_margin_loss) arrive as their steps. Not covered: the inner
// forms that keep something for the backward pass.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/LossOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static StringAttr reductionAttr(NodeContext &context) {
  StringRef name = reductionName(context);
  return name.empty() ? StringAttr() : context.builder().getStringAttr(name);
}

static bool isAnyDynamic(const NodeContext &context,
                         std::initializer_list<StringRef> names) {
  return llvm::any_of(names,
                      [&](StringRef name) { return context.isDynamic(name); });
}

static FloatAttr numberAttr(NodeContext &context, StringRef name,
                            double otherwise) {
  return context.builder().getF64FloatAttr(context.getNumber(name, otherwise));
}

static BoolAttr boolAttr(NodeContext &context, StringRef name) {
  return context.builder().getBoolAttr(context.getBool(name));
}

namespace {
/// Operands and reduction that nearly all losses have.
struct Common {
  Value input, target;
  StringAttr reduction;
  explicit operator bool() const { return input && target && reduction; }
};
} // namespace

static Common readCommon(NodeContext &context) {
  return {context.tensor(oneOf(context, "self", "input")),
          context.tensor("target"), reductionAttr(context)};
}

//===----------------------------------------------------------------------===//
// Over classes
//===----------------------------------------------------------------------===//

static LogicalResult lowerNll(NodeContext &context) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {"ignore_index"}))
    return context.unsupported();
  context.setOutput(0, context.make<mp::NllLossOp>(
                           common.input, common.target,
                           context.tensor("weight"), common.reduction,
                           context.builder().getI64IntegerAttr(
                               context.getInt("ignore_index", -100))));
  return success();
}

/// Targets that are probabilities take part in promotion.
static LogicalResult lowerCrossEntropy(NodeContext &context) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {"ignore_index", "label_smoothing"}))
    return context.unsupported();
  if (!isIntegral(common.target)) {
    auto operands = promoteAll(context, {"self", "target"});
    common.input = (*operands)[0];
    common.target = (*operands)[1];
  }
  context.setOutput(0, context.make<mp::CrossEntropyOp>(
                           common.input, common.target,
                           context.tensor("weight"), common.reduction,
                           context.builder().getI64IntegerAttr(
                               context.getInt("ignore_index", -100)),
                           numberAttr(context, "label_smoothing", 0)));
  return success();
}

static LogicalResult lowerMultiMargin(NodeContext &context) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {"p", "margin"}))
    return context.unsupported();
  context.setOutput(0,
                    context.make<mp::MultiMarginLossOp>(
                        common.input, common.target, context.tensor("weight"),
                        common.reduction, numberAttr(context, "p", 1),
                        numberAttr(context, "margin", 1)));
  return success();
}

//===----------------------------------------------------------------------===//
// Losses of two tensors
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult lowerPlain(NodeContext &context) {
  Common common = readCommon(context);
  if (!common)
    return context.unsupported();
  context.setOutput(
      0, context.make<OpT>(common.input, common.target, common.reduction));
  return success();
}

template <typename OpT>
static LogicalResult makeWithNumber(NodeContext &context, StringRef name,
                                    double otherwise) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {name}))
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(common.input, common.target,
                                         common.reduction,
                                         numberAttr(context, name, otherwise)));
  return success();
}

static LogicalResult lowerSmoothL1(NodeContext &context) {
  return makeWithNumber<mp::SmoothL1LossOp>(context, "beta", 1);
}
static LogicalResult lowerHuber(NodeContext &context) {
  return makeWithNumber<mp::HuberLossOp>(context, "delta", 1);
}
static LogicalResult lowerHingeEmbedding(NodeContext &context) {
  return makeWithNumber<mp::HingeEmbeddingLossOp>(context, "margin", 1);
}

static LogicalResult lowerKlDiv(NodeContext &context) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {"log_target"}))
    return context.unsupported();
  context.setOutput(0, context.make<mp::KlDivOp>(
                           common.input, common.target, common.reduction,
                           boolAttr(context, "log_target")));
  return success();
}

static LogicalResult lowerPoissonNll(NodeContext &context) {
  Common common = readCommon(context);
  if (!common || isAnyDynamic(context, {"log_input", "full", "eps"}))
    return context.unsupported();
  context.setOutput(0, context.make<mp::PoissonNllLossOp>(
                           common.input, common.target, common.reduction,
                           boolAttr(context, "log_input"),
                           boolAttr(context, "full"),
                           numberAttr(context, "eps", 1e-8)));
  return success();
}

static LogicalResult lowerBinaryCrossEntropy(NodeContext &context) {
  Common common = readCommon(context);
  if (!common)
    return context.unsupported();
  context.setOutput(0, context.make<mp::BinaryCrossEntropyOp>(
                           common.input, common.target,
                           context.tensor("weight"), common.reduction));
  return success();
}

/// (1 - t) is computed first and changed in place, so that the result has the
/// target's dtype.
static LogicalResult lowerBinaryCrossEntropyLogits(NodeContext &context) {
  Common common = readCommon(context);
  if (!common)
    return context.unsupported();
  Value result = context.make<mp::BinaryCrossEntropyWithLogitsOp>(
      common.input, common.target, context.tensor("weight"),
      context.tensor("pos_weight"), common.reduction);
  Type wanted = getElementType(common.target);
  bool isPlain = !context.has("weight") && !context.has("pos_weight");
  context.setOutput(0, isPlain && isa<FloatType>(wanted)
                           ? context.cast(result, wanted)
                           : result);
  return success();
}

//===----------------------------------------------------------------------===//
// Losses of other operands
//===----------------------------------------------------------------------===//

template <typename OpT> static LogicalResult lowerPair(NodeContext &context) {
  Value first = context.tensor("input1"), second = context.tensor("input2"),
        target = context.tensor("target");
  StringAttr reduction = reductionAttr(context);
  if (!first || !second || !target || !reduction ||
      isAnyDynamic(context, {"margin"}))
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(first, second, target, reduction,
                                         numberAttr(context, "margin", 0)));
  return success();
}

static LogicalResult lowerTriplet(NodeContext &context) {
  Value anchor = context.tensor("anchor"),
        positive = context.tensor("positive"),
        negative = context.tensor("negative");
  StringAttr reduction = reductionAttr(context);
  if (!anchor || !positive || !negative || !reduction ||
      isAnyDynamic(context, {"margin", "p", "eps", "swap"}))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::TripletMarginLossOp>(
             anchor, positive, negative, reduction,
             numberAttr(context, "margin", 1), numberAttr(context, "p", 2),
             numberAttr(context, "eps", 1e-6), boolAttr(context, "swap")));
  return success();
}

/// Lengths may be lists of numbers.
static LogicalResult lowerCtc(NodeContext &context) {
  Value scores = context.tensor("log_probs"),
        targets = context.tensor("targets");
  auto lengths = [&](StringRef name) {
    Value value = context.tensor(name);
    return value ? value : context.shapeOf(name);
  };
  Value inputs = lengths("input_lengths"), outputs = lengths("target_lengths");
  StringAttr reduction = reductionAttr(context);
  if (!scores || !targets || !inputs || !outputs || !reduction ||
      isAnyDynamic(context, {"blank", "zero_infinity"}))
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::CtcLossOp>(
             scores, targets, inputs, outputs, reduction,
             context.builder().getI64IntegerAttr(context.getInt("blank", 0)),
             boolAttr(context, "zero_infinity")));
  return success();
}

void mpopt::aten::registerLoss(LoweringRegistry &registry) {
  registry.add({"nll_loss", "nll_loss2d", "nll_loss_nd"}, lowerNll);
  registry.add("cross_entropy_loss", lowerCrossEntropy);
  registry.add("multi_margin_loss", lowerMultiMargin);
  registry.add("mse_loss", lowerPlain<mp::MseLossOp>);
  registry.add("l1_loss", lowerPlain<mp::L1LossOp>);
  registry.add("soft_margin_loss", lowerPlain<mp::SoftMarginLossOp>);
  registry.add("multilabel_margin_loss",
               lowerPlain<mp::MultilabelMarginLossOp>);
  registry.add("smooth_l1_loss", lowerSmoothL1);
  registry.add("huber_loss", lowerHuber);
  registry.add("hinge_embedding_loss", lowerHingeEmbedding);
  registry.add("kl_div", lowerKlDiv);
  registry.add("poisson_nll_loss", lowerPoissonNll);
  registry.add("binary_cross_entropy", lowerBinaryCrossEntropy);
  registry.add("binary_cross_entropy_with_logits",
               lowerBinaryCrossEntropyLogits);
  registry.add("margin_ranking_loss", lowerPair<mp::MarginRankingLossOp>);
  registry.add("cosine_embedding_loss", lowerPair<mp::CosineEmbeddingLossOp>);
  registry.add("triplet_margin_loss", lowerTriplet);
  registry.add("ctc_loss", lowerCtc);
  registerDistance(registry);
}
