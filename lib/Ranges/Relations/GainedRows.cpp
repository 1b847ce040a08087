//===- GainedRows.cpp - Products of rows behind a norm's gain
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matches primitives: the multiplication and addition are looked for, whatever
// computes the norm. A fused norm gives its own R by the closed bound
// (Standardize.h).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Relations/GainedRows.h"

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/RowSupport.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// The cells of a vector along the last axis, one for each of `count` features;
/// nothing for other values.
static std::optional<std::vector<Cell>> getFeatures(Value value, uint64_t count,
                                                    TransferContext &ctx) {
  const AbstractValue &known = ctx.of(value);
  if (known.mayBeNonFinite() || known.rank() == 0 ||
      known.groups() != size_t(known.dims().back()) ||
      known.groups() != count || count < 2 ||
      TransferContext::dimOf(value, int64_t(known.rank()) - 1) !=
          int64_t(count))
    return std::nullopt;
  for (const Cell &cell : known.cells())
    if (cell.empty())
      return std::nullopt;
  return std::vector<Cell>(known.cells().begin(), known.cells().end());
}

/// True if rows are along the last axis alone.
static bool isLastAxis(Value input, int64_t axis) {
  int64_t rank = TransferContext::rankOf(input);
  return rank > 0 && normalizeAxis(axis, rank) == rank - 1;
}

/// ‖y‖ of a fused norm before gain and bias: sqrt(n) and the error of its
/// statistics.
template <typename OpTy>
static double normOf(OpTy op, uint64_t count, TransferContext &ctx) {
  const AbstractValue &result = ctx.of(op->getResult(0));
  if (!result.norm || !isLastAxis(op.getInput(), op.getAxis()))
    return kInfinity; // also where epsilon vanishes
  const FloatFormat *stash =
      op.getStashType() ? getFloatFormat(*op.getStashType()) : nullptr;
  double error =
      relativeSumError(ctx.sumFormat(op.getOperation()), double(count), 16);
  if (stash)
    error = std::max(error, relativeSumError(*stash, double(count), 16));
  return error < 0.25 ? std::sqrt(double(count)) * (1 + 2 * error) : kInfinity;
}

std::optional<GainedRows> GainedRows::match(Value value, uint64_t count,
                                            TransferContext &ctx) {
  Rounding error;
  value = peel(value, &error);
  Operation *op = value.getDefiningOp();
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!op || !format)
    return std::nullopt;
  GainedRows result;
  std::optional<std::vector<Cell>> gains, biases;
  auto addRoundings = [&](Value of) {
    error.add(storeError(of));
    error.add(functionError(of, ctx));
  };
  if (auto norm = dyn_cast<mp::LayerNormOp>(op)) {
    if (!norm.getScale() || op->getResult(0) != value)
      return std::nullopt;
    result.norm = normOf(norm, count, ctx);
    gains = getFeatures(norm.getScale(), count, ctx);
    if (norm.getBias() && !(biases = getFeatures(norm.getBias(), count, ctx)))
      return std::nullopt;
    // y and its product with the gain may be stored on the way.
    addRoundings(value);
    addRoundings(value);
    addRoundings(value);
  } else if (auto norm = dyn_cast<mp::RMSNormOp>(op)) {
    if (!norm.getScale() || op->getResult(0) != value)
      return std::nullopt;
    result.norm = normOf(norm, count, ctx);
    gains = getFeatures(norm.getScale(), count, ctx);
    addRoundings(value);
    addRoundings(value);
  } else {
    if (isa<mp::AddOp>(op)) {
      for (unsigned index : {1u, 0u})
        if (!biases &&
            (biases = getFeatures(op->getOperand(index), count, ctx)))
          value = op->getOperand(1 - index);
      if (!biases)
        return std::nullopt;
      addRoundings(op->getResult(0));
      value = peel(value, &error);
      op = value.getDefiningOp();
    }
    if (!isa_and_present<mp::MulOp>(op))
      return std::nullopt;
    addRoundings(value);
    for (unsigned index : {1u, 0u}) {
      Value other = op->getOperand(1 - index);
      const AbstractValue &y = ctx.of(other);
      if (gains || !y.norm || y.norm->count != int64_t(count) ||
          y.norm->axis + 1 != int64_t(y.rank()))
        continue;
      gains = getFeatures(op->getOperand(index), count, ctx);
      result.norm = y.norm->bound;
    }
  }
  if (!gains || !(result.norm < kInfinity) || !(error.relative < 0.1))
    return std::nullopt;
  result.relative = 2 * error.relative;
  for (uint64_t k = 0; k < count; ++k) {
    result.gains.push_back((*gains)[k].absMax());
    Interval bias = biases ? cells::bound((*biases)[k]) : Interval::point(0);
    result.centre.push_back(bias.midpoint());
    result.radius.push_back(
        addUp(bias.radius(), result.relative * bias.maxAbs() * (1 + 1e-9) +
                                 2 * error.absolute));
  }
  return result;
}

GainedRows::Products GainedRows::multiply(LinearRequest request) const {
  std::vector<double> squares;
  double most = 0;
  for (double gain : gains) {
    squares.push_back(gain * gain * (1 + 1e-12));
    most = std::max(most, squares.back());
  }
  request.inputs = {centre, radius, {}, squares, {}};
  request.wantNorm = false;
  LinearSums sums = linearSums(request);
  Products products;
  for (size_t channel = 0; channel < sums.size(); ++channel) {
    // The estimate's sum is off by 1e-5 at most (Kernels/Linear.cpp) but for
    // squares that vanish in a float.
    double square =
        sums.variance[channel] * (1 + 1e-4) + double(request.k) * 1e-36 * most;
    double reach = sqrtUp(square) * norm * (1 + relative) * (1 + 1e-12);
    if (std::isnan(reach) || !sums.flags.empty())
      reach = kInfinity;
    products.bound.push_back(sums.bound(channel) + Interval::symmetric(reach));
    products.terms.push_back(addUp(sums.terms[channel], reach));
  }
  return products;
}
