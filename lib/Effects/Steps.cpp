//===- Steps.cpp - Errors across the edges of steps
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: steps of comparisons, and of loops' bodies.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/StorageErrors.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

// An error of (n + f) steps, with 0 <= f < 1, becomes n or n + 1 of them, and
// n + f on average: its square grows by f - f^2. That is about f for errors far
// below a step, and 1/6 for those that have any f. Errors are as large as their
// values, or made of few steps, so that their mean magnitude is less of their
// root mean square than a normal error's 0.8.
StepError StepError::across(double width, double before) {
  constexpr double kEven = 1.0 / 6, kMean = 0.5;
  double mean = kMean * std::sqrt(before) / width;
  double more = -kEven * std::expm1(-mean / kEven);
  return {width, more * width * width, std::min(mean, 1.0)};
}

Steps::Steps(Block &body, const RangeAnalysis &ranges, StorageErrors &storage)
    : ranges(ranges), storage(storage) {
  auto hasSteps = [](Operation &op) {
    return roundsToWhole(&op) || isa<mp::QuantizeOp, mp::FakeQuantizeOp>(op);
  };
  if (llvm::any_of(body, hasSteps))
    for (Operation &op : body)
      visit(&op);
}

/// The error of a value that no op of the body makes is that of storing it.
double Steps::relativeSquare(Value value) {
  auto [known, isNew] = errors.try_emplace(value, 0.0);
  if (!isNew || !isa<FloatType>(getElementType(value)) ||
      !storage.rounds(value))
    return known->second;
  const AbstractValue &exact = ranges.preRounding(value);
  std::optional<AbstractValue> error = storage.errorOf(value, /*lost=*/0, {});
  if (!error || !error->hasLikely() || !exact.hasLikely())
    return known->second;
  double square = meanSquare(exact);
  return known->second =
             square > 0 ? std::min(meanSquare(*error) / square, 1.0) : 0;
}

StepError Steps::across(Value value, double width) {
  const AbstractValue &exact = ranges.preRounding(value);
  if (!exact.hasLikely() || (exact.integral && width == 1) || !(width > 0))
    return {};
  // Values within less than one step meet an edge only if they are next to it.
  double variance = 0;
  for (const Cell &cell : exact.cells())
    variance += cell.variance / double(exact.groups());
  if (!(variance > width * width / 16))
    return {};
  return StepError::across(width, relativeSquare(value) * meanSquare(exact));
}

/// The value that is read takes the error: a quantised one is no float.
void Steps::quantize(Operation *op) {
  Value value = op->getOperand(0);
  const AbstractValue &scale = ranges.of(op->getOperand(1));
  double width = 0;
  for (const Cell &cell : scale.cells())
    width += std::fabs(cell.mean) / double(scale.groups());
  StepError error = across(value, width);
  double relative = relativeSquare(value);
  if (double square = meanSquare(ranges.preRounding(value)); square > 0)
    relative += error.square / square;
  errors[op->getResult(0)] = std::min(relative, 1.0);
  // A value that several quantisations read counts once.
  if (StepError &known = steps[value]; error.square > known.square)
    known = error;
}

void Steps::visit(Operation *op) {
  if (isa<mp::QuantizeOp, mp::FakeQuantizeOp>(op))
    return quantize(op);
  if (op->getNumResults() == 0 || isa<mp::ConstantOp>(op))
    return;
  Value result = op->getResult(0);
  bool isFloat = isa<FloatType>(getElementType(result));
  if (!isFloat && !isa<mp::DequantizeOp>(op))
    return;
  const AbstractValue &exact = ranges.preRounding(result);
  double square = exact.hasLikely() ? meanSquare(exact) : 0;
  bool adds = hasRole(op, Role::Addition | Role::Subtraction);
  bool copies =
      hasRole(op, Role::CopiesElements | Role::Concatenation | Role::Select);
  double relative = relativeSquare(result); // of its own storage
  double carried = 0;
  for (Value operand : op->getOperands()) {
    double its = relativeSquare(operand);
    if (its == 0)
      continue;
    if (adds && square > 0)
      its *= meanSquare(ranges.preRounding(operand)) / square;
    carried = copies ? std::max(carried, its) : carried + its;
  }
  relative += carried;
  if (roundsToWhole(op)) {
    StepError error = across(op->getOperand(0), 1);
    if (error.square > 0) {
      steps[result] = error;
      relative += square > 0 ? error.square / square : 0;
    }
  }
  errors[result] = std::min(relative, 1.0);
}
