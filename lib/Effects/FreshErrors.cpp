//===- FreshErrors.cpp - Errors that nothing has filtered yet -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FreshErrors.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/FunctionOf.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// The norm behind a value whose errors reach it as they are made.
struct NextNorm {
  /// For each channel, AbstractValue::understated of what the norm reads.
  std::shared_ptr<const std::vector<double>> ratios;
  /// The axis of the value along which these channels lie; nothing if each of
  /// its elements meets all of them.
  std::optional<int64_t> axis;

  int64_t channels() const { return int64_t(ratios->size()); }
};
} // namespace

/// The axis of an operand of a filter along which the result's channels lie.
static std::optional<int64_t> findChannels(OpOperand &use, int64_t channels) {
  MaybeShape shape = getShape(use.get());
  if (!shape)
    return std::nullopt;
  bool isData = use.getOperandNumber() == 0;
  if (auto conv = dyn_cast<mp::ConvOp>(use.getOwner())) {
    bool depthwise = int64_t(conv.getGroup()) == channels &&
                     shape->size() > 1 && (*shape)[1] == channels;
    if (isData && !depthwise)
      return std::nullopt;
    return isData ? 1 : 0;
  }
  if (isData || llvm::count(*shape, channels) != 1)
    return std::nullopt;
  // The one axis of that size, of a matrix or a bias.
  return llvm::find(*shape, channels) - shape->begin();
}

/// True if a result at one place depends on the operand at that place alone, so
/// that neighbours stay as different as they are: activations, and convolutions
/// with one tap.
static bool isOfPlaces(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto conv = dyn_cast<mp::ConvOp>(op)) {
    MaybeShape filter = getShape(conv.getFilter());
    return filter && filter->size() > 2 && use.getOperandNumber() == 0 &&
           llvm::all_of(ArrayRef(*filter).drop_front(2),
                        [](int64_t taps) { return taps == 1; });
  }
  return op->getNumOperands() == 1 && getFunction(op);
}

/// Follows the only readers of `value`: to ops of single places, through one
/// filter, and to what is between that and the norm.
static std::optional<NextNorm> findNorm(Value value,
                                        const RangeAnalysis &ranges) {
  constexpr unsigned kMostSteps = 8;
  OpOperand *filter = nullptr;
  bool mixed = false;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    NextNorm norm{ranges.preRounding(value).understated, std::nullopt};
    if (norm.ratios) {
      if (!mixed)
        norm.axis = filter ? findChannels(*filter, norm.channels()) : 1;
      return norm;
    }
    if (!value.hasOneUse())
      return std::nullopt;
    OpOperand &use = *value.use_begin();
    Operation *reader = use.getOwner();
    if (reader->getNumResults() != 1)
      return std::nullopt;
    bool filters = hasRole(reader, Role::Contraction);
    if (!filter && isOfPlaces(use))
      mixed = true;
    else if (!filter && filters)
      filter = &use;
    else if (filter ? filters : !isa<mp::CastOp>(reader))
      return std::nullopt;
    value = reader->getResult(0);
  }
  return std::nullopt;
}

static void divide(CellRef cell, double ratio) {
  cell.mean /= std::sqrt(ratio);
  cell.variance /= ratio;
}

AbstractValue mpopt::asFresh(Value value, AbstractValue error,
                             const RangeAnalysis &ranges) {
  std::optional<NextNorm> norm = findNorm(value, ranges);
  if (!norm)
    return error;
  MaybeShape shape = getShape(value);
  if (norm->axis && shape && error.rank() == shape->size() &&
      *norm->axis < int64_t(shape->size()) &&
      (*shape)[*norm->axis] == norm->channels()) {
    AbstractValue::Dims dims(error.dims());
    dims[*norm->axis] = norm->channels();
    error = error.regrouped(dims);
    size_t inner =
        countGroups(ArrayRef<int64_t>(dims).drop_front(*norm->axis + 1));
    for (auto [group, cell] : llvm::enumerate(error.mutableCells()))
      divide(cell, (*norm->ratios)[group / inner % norm->ratios->size()]);
    return error;
  }
  // Channels whose signals the norm enlarges most count most.
  double inverse = 0;
  for (double ratio : *norm->ratios)
    inverse += 1 / ratio;
  for (CellRef cell : error.mutableCells())
    divide(cell, double(norm->channels()) / inverse);
  return error;
}
