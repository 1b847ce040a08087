//===- SoftmaxRows.cpp - Moments of rows of probabilities
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxRows.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Numerics/Likely.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Elements of masks that are read.
static constexpr int64_t kMostMask = 1 << 22;

/// The expected sum of squares of a row of `count` probabilities whose logits
/// have that variance v. Between two limits, n e^-v for small ones and, for
/// large ones, the gap between the greatest two logits, 1 - m / sigma with m
/// the expected greatest of n, their inverses are added; simulations of rows of
/// 8 to 1,024 are within a factor 2 of it everywhere, and within 1.3 mostly.
double mpopt::collisionsOf(double count, double variance) {
  if (count <= 1)
    return 1;
  double decay = std::exp(-variance);
  double inverse = 1 + (count - 1) * decay;
  if (variance > 0) {
    double ratio = expectedMaximum(count) / std::sqrt(variance);
    inverse += (1 - decay) * ratio * (1 + 1.4 * ratio);
  }
  return 1 / std::min(inverse, count);
}

/// E 1 / max(a, b) over two different rows: the chance that both pick the same
/// element, if each picks evenly among its first ones.
static double meetingOf(std::vector<double> lengths) {
  if (lengths.size() < 2)
    return 1 / lengths.front();
  llvm::sort(lengths);
  double sum = 0, pairs = 0;
  for (size_t i = 1; i < lengths.size(); ++i) {
    sum += double(i) / lengths[i];
    pairs += double(i);
  }
  return sum / pairs;
}

Moments mpopt::probabilitiesOf(ArrayRef<double> lengths, double count,
                               double variance) {
  double collisions = 0;
  for (double length : lengths)
    collisions += collisionsOf(length, variance) / double(lengths.size());
  return {1 / count, meetingOf(lengths.vec()) / count, collisions / count};
}

// y (g - sum y g): what the elements of a row share cancels. With v what g
// varies by within the row, E sum y^2 (g - sum y g)^2 = v (K + K^2 - 2 sum
// y^3), K the collisions. For rows that nearly all elements share that is v K;
// where two elements contend for a row, p and 1 - p with a logit of their
// difference that is even on a wide range, it is a third of v (1 - K).
double mpopt::logitSquare(const Moments &y, double count, double own) {
  double collisions = std::clamp(count * y.square, 1 / count, 1.0);
  return y.square * own * (1 - collisions) * (1 - 2.0 / 3 * collisions);
}

static Value skipCopies(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<mp::CastOp, mp::IdentityOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::vector<double> mpopt::countLive(SpreadContext &ctx, Value mask,
                                     int64_t count,
                                     llvm::function_ref<bool(double)> isLive) {
  std::vector<double> lengths;
  mask = skipCopies(mask);
  auto constant = mask.getDefiningOp<mp::ConstantOp>();
  // Bits are not stored as a file would store them.
  if (auto dense = constant
                       ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                       : DenseIntElementsAttr();
      dense && dense.getElementType().isInteger(1)) {
    ArrayRef<int64_t> shape = dense.getType().getShape();
    if (shape.empty() || shape.back() != count ||
        dense.getNumElements() > kMostMask)
      return lengths;
    int64_t place = 0;
    for (bool held : dense.getValues<bool>()) {
      if (place++ % count == 0)
        lengths.push_back(0);
      lengths.back() += isLive(held);
    }
    return lengths;
  }
  std::optional<WeightView> view = ctx.weights(mask);
  if (!view || view->shape.empty() || view->shape.back() != count ||
      view->size() > kMostMask)
    return lengths;
  std::vector<double> row(count);
  for (int64_t first = 0; first < view->size(); first += count) {
    view->read(first, row);
    lengths.push_back(double(llvm::count_if(row, isLive)));
  }
  return lengths;
}
