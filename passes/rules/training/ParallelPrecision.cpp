//===- ParallelPrecision.cpp - MP413: what a sharding policy stores in 16 bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Parameters.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/DtypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "passes/rules/Rules.h"

namespace mpopt {
#define GEN_PASS_DEF_PARALLELPRECISION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct ParallelPrecision
    : mpopt::impl::ParallelPrecisionBase<ParallelPrecision> {
  void check(ModuleOp module) override;

private:
  void judgeBuffers(ModuleOp module, const TrainingFacts &facts);
  void judgeNorms(ModuleOp module, Type type);
  void judgeRouters(ModuleOp module, Type type);
  void judgeReduction(const LossScaling &scaling);
};
} // namespace

static std::string countMore(size_t count, const Twine &what) {
  return count > 1
             ? ("; so are those of " + Twine(count - 1) + " more " + what).str()
             : std::string();
}

static bool isForward(Operation *op) { return !op->hasAttr(kBackwardAttr); }

/// Running mean and variance, which a batch changes by a tenth of what is new.
void ParallelPrecision::judgeBuffers(ModuleOp module,
                                     const TrainingFacts &facts) {
  Type type = facts.sharding.buffers;
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (isForward(op) && hasRole(op, Role::BatchNorm) &&
        op->getNumOperands() >= 3 &&
        isConstant(op->getOperand(op->getNumOperands() - 1)))
      found.push_back(op);
  });
  if (found.empty())
    return;
  Operation *first = found.front();
  double unit = getFloatFormat(type)->unitRoundoff();
  FindingBuilder finding = report(first, first->getResult(0));
  finding.dtype(type)
      .tensor(first->getOperand(first->getNumOperands() - 1))
      .message("the sharding policy casts buffers to " + getDtypeName(type) +
               ", running mean and variance among them: with the usual "
               "momentum of 0.1 a change below " +
               formatNumber(10 * unit) +
               " of their value does nothing; buffers in FP32 cost nothing" +
               countMore(found.size(), "norms"));
  TrainingFacts better = facts;
  better.sharding.buffers = Float32Type::get(type.getContext());
  finding.fixByStep("sharding", "keep buffers in f32", better);
}

/// Gains and biases of norms, which frameworks keep in FP32 beside 16-bit
/// activations.
void ParallelPrecision::judgeNorms(ModuleOp module, Type type) {
  SmallVector<std::pair<Operation *, Value>> found;
  module.walk([&](Operation *op) {
    if (!isForward(op) || !hasRole(op, Role::Normalization))
      return;
    for (Value operand : llvm::drop_begin(op->getOperands()))
      if (Value gain = peel(operand); isParameter(gain))
        return found.push_back({op, operand});
  });
  if (found.empty())
    return;
  auto [first, gain] = found.front();
  report(first, first->getResult(0))
      .severity(Severity::Note)
      .dtype(type)
      .tensor(peel(gain))
      .message("the sharding policy casts the weights of a norm to " +
               getDtypeName(type) +
               ", and the norm computes in it: around 1 its gain has steps "
               "of " +
               formatNumber(getFloatFormat(type)->epsilon()) +
               "; norms wrapped with a policy of their own stay in FP32" +
               countMore(found.size(), "norms"));
}

/// A product whose softmax is what experts are chosen by.
void ParallelPrecision::judgeRouters(ModuleOp module, Type type) {
  SmallVector<Operation *> found;
  module.walk([&](mp::TopKOp top) {
    Operation *maker = getMaker(top->getOperand(0), Peel::CastsAndViews);
    bool softmax = maker && hasRole(maker, Role::Softmax);
    Operation *product =
        softmax ? getMaker(maker->getOperand(0), Peel::CastsAndViews) : maker;
    if (product && isForward(product) && hasRole(product, Role::Contraction) &&
        product->getNumOperands() > 1 && isConstant(product->getOperand(1)))
      found.push_back(product);
  });
  if (found.empty())
    return;
  Operation *first = found.front();
  report(first, first->getResult(0))
      .dtype(type)
      .tensor(peel(first->getOperand(1), Peel::CastsAndViews))
      .message("the sharding policy casts the weights of a router to " +
               getDtypeName(type) + ": scores that differ by less than " +
               formatNumber(getFloatFormat(type)->epsilon()) +
               " of their size are equal, and the choice of experts is left "
               "to chance; a router is computed in FP32" +
               countMore(found.size(), "routers"));
}

void ParallelPrecision::judgeReduction(const LossScaling &scaling) {
  const TrainingFacts &facts = scaling.facts();
  Type type = facts.reduce.type ? facts.reduce.type : facts.sharding.reduce;
  bool inherits = !type;
  if (inherits && facts.sharding.mode == ShardingMode::Fsdp)
    type = facts.sharding.parameters;
  // One worker reduces nothing.
  if (!type || !is16Bit(type) || facts.batch.world == 1 ||
      !scaling.hasGradients())
    return;
  std::string dtype = getDtypeName(type);
  bool half = type.isF16();
  Value place = scaling.place();
  FindingBuilder finding = report(place.getDefiningOp(), place);
  finding.severity(half ? Severity::Warning : Severity::Note)
      .dtype(type)
      .message((inherits ? "no reduce dtype is set, so that gradients are "
                           "reduced in the parameters' " +
                               dtype
                         : "gradients are reduced in " + dtype) +
               (half ? ": values below 2^-25 after the division are 0, and a "
                       "sum past 65504 is Inf; reduce in FP32, or in BF16"
                     : ": each addition keeps 8 bits; reduce in FP32 where "
                       "bandwidth allows it"));
  TrainingFacts better = facts;
  better.reduce.type = Float32Type::get(type.getContext());
  finding.fixByStep("reduction", "add the gradients in f32", better);
}

void ParallelPrecision::check(ModuleOp module) {
  const auto &scaling = getAnalysis<LossScaling>();
  const ShardingFacts &sharding = scaling.facts().sharding;
  if (!sharding.mode || sharding.mode == ShardingMode::None)
    return;
  if (sharding.buffers && is16Bit(sharding.buffers))
    judgeBuffers(module, scaling.facts());
  if (sharding.parameters && is16Bit(sharding.parameters)) {
    judgeNorms(module, sharding.parameters);
    judgeRouters(module, sharding.parameters);
  }
  judgeReduction(scaling);
}
