//===- TensorEffect.cpp - What one tensor's errors do
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorEffect.h"

#include "mpopt/Propagate/MeanSquare.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
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
  TermCount count = TermCount::along(known, merged, spread.axes, samples);
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
