//===- Drift.cpp - Estimates that drift apart with depth
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Drift.h"

#include "OutputGradients.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/AttentionOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Spread/Spread.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// The square of degree 2.
static constexpr double kMostDegree = 4;
/// The square of the factor within which estimates are good.
static constexpr double kTolerance = 16;

//===----------------------------------------------------------------------===//
// Degrees
//===----------------------------------------------------------------------===//

static double degreeOfFunction(const Unary &function, const Cell &x) {
  auto square = [&](llvm::function_ref<double(double)> of) {
    return momentsOf(x.mean, x.variance,
                     [&](double at) {
                       double y = of(at);
                       return std::isfinite(y) ? y : 0;
                     })
        .square;
  };
  double size = square([&](double at) { return evaluate(function, at); });
  double change =
      square([&](double at) { return at * derivative(function, at); });
  return size > 0 ? change / size : 1;
}

/// Heads that lie side by side make this too large: more is allowed.
static double varianceOfScores(mp::AttentionOp op,
                               const RangeAnalysis &ranges) {
  MaybeShape shape = getShape(op.getQuery());
  double depth = shape && !shape->empty() ? double(shape->back()) : 1;
  double scale = op.getScale().convertToDouble();
  double squares =
      meanSquare(ranges.of(op.getQuery())) * meanSquare(ranges.of(op.getKey()));
  return scale == 0 ? squares : depth * scale * scale * squares;
}

/// The square of the degree of an op that is not linear; 1 for others.
static double degreeOf(Operation *op, const RangeAnalysis &ranges) {
  if (op->getNumOperands() == 0 || op->getNumResults() == 0 ||
      !isa<FloatType>(getElementType(op->getOperand(0))))
    return 1;
  const AbstractValue &x = ranges.of(op->getOperand(0));
  if (!x.hasLikely())
    return kInfinity;
  Cell hull = x.hull();
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](mp::SoftmaxOp) { return hull.variance; })
      .Case([&](mp::AttentionOp op) { return varianceOfScores(op, ranges); })
      // The mean of a row does not count.
      .Case([&](mp::LayerNormOp) { return meanSquare(hull) / hull.variance; })
      .Default([&](Operation *op) {
        auto function = getFunction(op);
        return function ? degreeOfFunction(*function, hull) : 1;
      });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The largest square of a degree of the ops between; nothing if `value` is not
/// computed from `source`.
static std::optional<double> degreeBetween(Value source, Value value,
                                           const RangeAnalysis &ranges) {
  Operation *first = source.getDefiningOp();
  SmallVector<Value> work = {value};
  llvm::DenseSet<Operation *> seen;
  bool depends = false;
  double degree = 1;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    depends |= next == source;
    Operation *op = next.getDefiningOp();
    if (!op || op == first || op->isBeforeInBlock(first) ||
        !seen.insert(op).second)
      continue;
    degree = std::max(degree, degreeOf(op, ranges));
    llvm::append_range(work, op->getOperands());
  }
  return depends ? std::optional<double>(degree) : std::nullopt;
}

/// The sum of an earlier block that x is, or a norm of it.
static int findBefore(Value input, const llvm::DenseMap<Value, int> &sums) {
  Value value = peel(input, Peel::CastsAndViews);
  auto known = sums.find(value);
  if (known == sums.end())
    if (Operation *norm = value.getDefiningOp())
      if (isa<mp::LayerNormOp, mp::RMSNormOp, mp::BatchNormOp, mp::ReluOp>(
              norm))
        known = sums.find(peel(norm->getOperand(0), Peel::CastsAndViews));
  return known == sums.end() ? -1 : known->second;
}

DriftCheck::DriftCheck(Block &body, const RangeAnalysis &ranges) {
  llvm::DenseMap<Value, int> sums;
  for (mp::AddOp add : body.getOps<mp::AddOp>()) {
    MaybeShape shape = getShape(add.getResult());
    if (!isa<FloatType>(getElementType(add.getResult())))
      continue;
    for (unsigned index : {0u, 1u}) {
      Value input = peel(add->getOperand(index), Peel::CastsAndViews),
            branch = add->getOperand(1 - index);
      if (!input.getDefiningOp() || getShape(input) != shape ||
          getShape(branch) != shape || !ranges.of(branch).hasLikely() ||
          !ranges.of(input).hasLikely())
        continue;
      std::optional<double> degree = degreeBetween(input, branch, ranges);
      if (!degree)
        continue;
      double ratio =
          meanSquare(ranges.of(branch)) / meanSquare(ranges.of(input));
      sums[add.getResult()] = int(residuals.size());
      residuals.push_back({input, add.getResult(),
                           1 + kMostDegree * *degree * ratio,
                           findBefore(input, sums)});
      break;
    }
  }
}

std::optional<Drift> DriftCheck::find(size_t output,
                                      const OutputGradients &gradients) const {
  auto squareOf = [&](Value value) -> std::optional<double> {
    Value gradient = gradients.gradient(output, value);
    if (!gradient || !gradients.analysis().of(gradient).hasLikely())
      return std::nullopt;
    return meanSquare(gradients.analysis().of(gradient));
  };
  // A chain of blocks, and by how much the block exceeds that does most.
  struct Chain {
    Drift drift;
    double most = 1;
  };
  std::vector<Chain> chains;
  for (const Residual &residual : residuals) {
    Chain chain = residual.before < 0 ? Chain() : chains[residual.before];
    auto in = squareOf(residual.input), out = squareOf(residual.sum);
    double excess = in && out && *out > 0 ? *in / *out / residual.allowed : 1;
    if (excess > 1) {
      Drift &drift = chain.drift;
      drift.excess *= std::min(excess, chain.most);
      chain.most = std::max(excess, chain.most);
      drift.first = drift.blocks++ == 0 ? residual.input : drift.first;
      drift.last = residual.input;
    }
    chains.push_back(chain);
  }
  auto most = llvm::max_element(chains, [](const Chain &lhs, const Chain &rhs) {
    return lhs.drift.excess < rhs.drift.excess;
  });
  if (most == chains.end() || !(most->drift.excess > kTolerance))
    return std::nullopt;
  return most->drift;
}
