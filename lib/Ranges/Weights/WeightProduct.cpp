//===- WeightProduct.cpp - Rows times constant weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/WeightProduct.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Weights/Kernels/HeavyTerms.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Weights that are read again for each row of small tensors, for each group
/// that a result may have.
static constexpr uint64_t kStepsPerGroup = 256;
/// Inputs of batched weights that are distinguished.
static constexpr uint64_t kMaxBatched = 1 << 20;
/// Weights that are read a second time for rows behind a norm's gain.
static constexpr uint64_t kMostGained = 1 << 22;

/// Users that are asked whether they read a norm.
static constexpr unsigned kMostUsers = 32;

/// Softmaxes, normalisations, losses and the model's results do not; those
/// behind a sum, a factor or a move of elements are asked instead of it.
static bool mayReadNorm(Value value, unsigned &asked) {
  for (Operation *user : value.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      if (!isa<FunctionOpInterface>(user->getParentOp()))
        return true;
      continue;
    }
    if (hasRole(user, Role::Softmax | Role::RowNorm | Role::Loss))
      continue;
    bool passes = isViewLike(user) || hasRole(user, Role::KeepsMagnitude) ||
                  hasRole(user, Role::Addition | Role::Subtraction |
                                    Role::Multiplication);
    if (!passes || ++asked > kMostUsers)
      return true;
    for (Value result : user->getResults())
      if (mayReadNorm(result, asked))
        return true;
  }
  return false;
}

bool mpopt::mayReadNorm(Value value) {
  unsigned asked = 0;
  return ::mayReadNorm(value, asked);
}

void WeightProduct::runOnce(TransferContext &ctx, ProductResult &rules,
                            const InputLists &inputs, uint64_t matrices,
                            size_t first, const MutableCells &cells) {
  LinearRequest request;
  request.weights = weights.tensor;
  request.weights.zeroPoints = zeroPoints;
  request.matrices = matrices;
  request.k = k;
  request.n = n;
  request.transposed = transposed;
  request.inputs = inputs.get();
  request.wantNorm = wantNorm;
  // Inputs that are all unbounded need no pass for their bound: they reach the
  // channels whose weights are not all zero.
  bool unbounded = inputs.unbounded();
  if (unbounded)
    request.inputs.centre = request.inputs.radius = {};
  LinearSums sums = linearSums(request, weights.sharedSums(ctx));
  for (size_t channel = 0; unbounded && channel < sums.size(); ++channel)
    if (sums.norm[channel] > 0)
      sums.radius[channel] = sums.terms[channel] = kInfinity;
  rules.addWeights(ctx.of(constant), sums.flags);
  lostWeights |= !sums.flags.empty();
  for (double norm : sums.operatorNorm)
    operatorNorm = std::max(operatorNorm, norm);
  std::vector<double> heavy = reachOfHeavyTerms(request, sums, rules.extreme());
  if (gained && products.bound.empty() && matrices == 1 &&
      weights.size() <= kMostGained)
    products = gained->multiply(request);
  auto isPositive = [](const AbstractValue &value) {
    return llvm::all_of(value.cells(),
                        [](const Cell &cell) { return cell.lo >= 0; });
  };
  bool nonNegative =
      zeroPoints.empty() && isPositive(ctx.of(constant)) && isPositive(input);
  double scale = 1;
  if (biasCells && alpha == 1 && beta == 1)
    scale = scaleByBias(sums.mean,
                        [&](size_t at) { return biasCells->cell(first + at); });
  for (size_t channel = 0; channel < matrices * n; ++channel) {
    ProductSum sum = ProductSum::of(sums, channel, k);
    if (!heavy.empty())
      sum.mostReach = heavy[channel];
    sum.scaleEstimate(scale);
    sum.nonNegative = nonNegative;
    if (!products.bound.empty()) {
      sum.bound = intersect(sum.bound, products.bound[channel]);
      sum.terms = std::min(sum.terms, products.terms[channel]);
    }
    if (inputNorm < kInfinity)
      sum.limit(mulUp(inputNorm, sums.norm[channel]));
    size_t group = first + channel;
    cells[group] = rules.finish(
        sum, alpha,
        biasCells ? std::optional(biasCells->cell(group)) : std::nullopt, beta);
  }
}

AbstractValue WeightProduct::run(TransferContext &ctx, ProductResult &rules) {
  rules.addOperand(input);
  if (bias && beta != 0)
    rules.addBias(*bias);
  size_t rank = std::max(input.rank(), batch.size() + 2);
  input = input.withRank(rank);
  int64_t last = rank - 1;
  if (input.dims()[last] != 1 && uint64_t(input.dims()[last]) != k)
    input = input.merging(last);
  // Only a fact bounds a row better than its elements do.
  bool hasFact = (input.norm && input.norm->axis == last) ||
                 (input.rowSum && input.rowSum->axis == last);
  if (hasFact || weights.size() <= kSmallMatrix)
    inputNorm = rowNorm(input, last, k);
  wantNorm = ctx.needsBounds() && inputNorm < kInfinity &&
             mpopt::mayReadNorm(ctx.op()->getResult(0));
  uint64_t matrices = 1;
  for (int64_t dim : batch)
    matrices *= dim;

  std::vector<InputLists> lists;
  dims.assign(rank, 1);
  if (matrices > 1) {
    // Rows are merged, batch dims kept where both have them.
    AbstractValue::Dims target(rank, 1);
    bool kept = false;
    for (size_t i = 0; i < batch.size(); ++i) {
      size_t axis = rank - 2 - batch.size() + i;
      dims[axis] = batch[i];
      if (input.dims()[axis] == batch[i] && batch[i] > 1) {
        target[axis] = batch[i];
        kept = true;
      }
    }
    kept &= matrices * k <= kMaxBatched;
    if (!kept)
      target.assign(rank, 1);
    target[last] = input.dims()[last];
    input = input.regrouped(target);
    if (kept) {
      for (int64_t axis = 0; axis < last - 1; ++axis)
        target[axis] = dims[axis];
      target[last] = k;
      input = input.regrouped(target);
    }
  } else if (uint64_t rows = input.groups() / input.dims()[last];
             rows > 1 &&
             rows * weights.size() <= kStepsPerGroup * ctx.maxGroups() &&
             rows * n <= ctx.maxGroups()) {
    for (int64_t axis = 0; axis < last; ++axis)
      dims[axis] = input.dims()[axis];
  } else {
    input = input.keeping({last});
  }
  dims[last] = n;

  if (bias)
    biasCells = broadcastBias(bias->withRank(rank), dims);
  Cells made(countGroups(dims));
  MutableCells cells = made.mutate();
  rules.setLeast(expectedExtreme(
      ctx.elementsPerGroup(ctx.op()->getResult(0), cells.size()), 1));
  size_t perRun = matrices > 1 ? input.groups() : input.dims()[last];
  size_t runs = input.groups() / perRun;
  for (size_t run = 0; run < runs; ++run) {
    InputLists inputs;
    for (size_t i = 0; i < perRun; ++i)
      inputs.add(input.cell(run * perRun + i));
    inputs.compress();
    runOnce(ctx, rules, inputs, matrices, run * n, cells);
  }

  AbstractValue result = rules.take(dims, std::move(made));
  if (wantNorm && !lostWeights && n > 0) {
    double bound = mulUp(mulUp(inputNorm, operatorNorm), std::fabs(alpha));
    if (bias && beta != 0)
      bound += std::fabs(beta) * rowNorm(bias->withRank(rank), last, n);
    ProductResult::setNorm(result, last, n, bound, rules.error());
  }
  return result;
}
