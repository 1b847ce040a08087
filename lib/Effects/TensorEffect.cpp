//===- TensorEffect.cpp - What one tensor's errors do
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorEffect.h"

#include "MeanSquare.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Groups of a tensor that are told apart.
static constexpr size_t kMostGroups = 1 << 14;

double mpopt::squareOf(Value value, AbstractValue gradient,
                       const Spread &spread, double samples,
                       AbstractValue error) {
  MaybeShape shape = getShape(value);
  Shape known = shape.value_or(Shape());
  if (gradient.rank() != known.size())
    gradient =
        AbstractValue(AbstractValue::Dims(known.size(), 1), gradient.hull());
  if (error.rank() != known.size())
    error = AbstractValue(AbstractValue::Dims(known.size(), 1), error.hull());
  SmallVector<AbstractValue, 2> values = {std::move(gradient),
                                          std::move(error)};
  AbstractValue::Dims dims =
      broadcastGroups(values, GroupLimit(kMostGroups, kMostGroups));
  SmallVector<int64_t> merged;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] == 1)
      merged.push_back(int64_t(axis));
  TermCount count = countTerms(known, merged, spread.axes, samples);
  Moments sum;
  forEachGroup(dims, values, [&](size_t, ArrayRef<size_t> at) {
    // Roundings of different positions have nothing in common.
    Moments product = Moments::of(values[0].cell(at[0]), spread.alike) *
                      Moments::of(values[1].cell(at[1]), 0);
    sum = sum + sumOf(product, count);
  });
  return sum.square;
}

AbstractValue mpopt::errorOf(double square) {
  AbstractValue error(AbstractValue::Dims(), Cell{0, 0, 0, square, 0, 0});
  error.source = LikelySource::Propagated;
  return error;
}

std::optional<AbstractValue>
mpopt::withSteps(std::optional<AbstractValue> error, double square) {
  if (square == 0)
    return error;
  if (!error)
    return errorOf(square);
  for (CellRef cell : error->mutableCells())
    cell.variance += square;
  return error;
}

/// The axis of an operand of a filter along which the result's channels lie;
/// nothing if each element meets all of them.
static std::optional<int64_t> findChannels(OpOperand &use, int64_t channels) {
  MaybeShape shape = getShape(use.get());
  if (!shape)
    return std::nullopt;
  if (auto conv = dyn_cast<mp::ConvOp>(use.getOwner())) {
    if (use.getOperandNumber() > 0)
      return 0;
    return int64_t(conv.getGroup()) == channels && shape->size() > 1 &&
                   (*shape)[1] == channels
               ? std::optional<int64_t>(1)
               : std::nullopt;
  }
  if (use.getOperandNumber() == 0)
    return std::nullopt;
  // The one axis of that size, of a matrix or a bias.
  std::optional<int64_t> found;
  for (auto [axis, dim] : llvm::enumerate(*shape))
    if (dim == channels) {
      if (found)
        return std::nullopt;
      found = axis;
    }
  return found;
}

/// True if a result at one place depends on the operand at that place alone:
/// activations, and convolutions with one tap.
static bool isOfPlaces(Operation *op, OpOperand &use) {
  if (auto conv = dyn_cast<mp::ConvOp>(op)) {
    MaybeShape filter = getShape(conv.getFilter());
    return filter && filter->size() > 2 && use.getOperandNumber() == 0 &&
           llvm::all_of(ArrayRef(*filter).drop_front(2),
                        [](int64_t taps) { return taps == 1; });
  }
  return op->getNumOperands() == 1 && getFunction(op);
}

AbstractValue mpopt::asFresh(Value value, AbstractValue error,
                             const RangeAnalysis &ranges) {
  constexpr unsigned kMostSteps = 8;
  Value at = value;
  bool filtered = false, mixed = false;
  OpOperand *filter = nullptr;
  std::shared_ptr<const std::vector<double>> ratios;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    ratios = ranges.preRounding(at).understated;
    if (ratios || !at.hasOneUse())
      break;
    OpOperand &use = *at.use_begin();
    Operation *reader = use.getOwner();
    if (reader->getNumResults() != 1)
      return error;
    // Neighbours are as different behind what takes each place by itself.
    bool mixes = !filtered && isOfPlaces(reader, use);
    bool filters = !mixes && hasRole(reader, Role::Contraction);
    // Behind the filter it is the filter's result that is read.
    if (filters ? filtered : !mixes && !filtered && !isa<mp::CastOp>(reader))
      return error;
    if (filters && !mixed)
      filter = &use;
    mixed |= mixes;
    filtered |= filters;
    at = reader->getResult(0);
  }
  if (!ratios)
    return error;
  int64_t channels = int64_t(ratios->size());
  std::optional<int64_t> axis;
  if (filter)
    axis = findChannels(*filter, channels);
  else if (!mixed && !filtered)
    axis = 1;
  MaybeShape shape = getShape(value);
  if (axis && shape && error.rank() == shape->size() &&
      *axis < int64_t(shape->size()) && (*shape)[*axis] == channels) {
    AbstractValue::Dims dims(error.dims());
    dims[*axis] = channels;
    error = error.regrouped(dims);
    size_t inner = 1;
    for (int64_t dim : ArrayRef(dims).drop_front(*axis + 1))
      inner *= size_t(dim);
    for (auto [group, cell] : llvm::enumerate(error.mutableCells())) {
      double ratio = (*ratios)[group / inner % size_t(channels)];
      cell.mean /= std::sqrt(ratio);
      cell.variance /= ratio;
    }
    return error;
  }
  // Channels whose signals the norm enlarges most count most.
  double inverse = 0;
  for (double ratio : *ratios)
    inverse += 1 / ratio;
  double ratio = double(ratios->size()) / inverse;
  for (CellRef cell : error.mutableCells()) {
    cell.mean /= std::sqrt(ratio);
    cell.variance /= ratio;
  }
  return error;
}

double mpopt::lostShare(Value value, const AbstractValue &error,
                        const RangeAnalysis &ranges) {
  const AbstractValue &x = ranges.preRounding(value);
  // Numbers that overflow are followed as Inf, which may matter to nobody.
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  Cell hull = x.hull();
  if (std::max(std::fabs(hull.likelyLo), std::fabs(hull.likelyHi)) >=
      format.overflowFrom)
    return 0;
  // Far more than the coarsest format rounds away.
  constexpr double kLeast = 0.01;
  double all = x.hasLikely() ? meanSquare(x) : 0;
  double share = all > 0 ? meanSquare(error) / all : 0;
  return share >= kLeast ? std::min(share, 1.0) : 0;
}
