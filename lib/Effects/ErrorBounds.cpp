//===- ErrorBounds.cpp - What errors cannot exceed
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where nothing is known the walk goes on without: behind the first tensor
// whose bound is past use nothing is computed, so that deep models, which have
// none, cost next to nothing.
//
//===----------------------------------------------------------------------===//

#include "ErrorBounds.h"

#include "OutputGradients.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/OutputBounds.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// An error of `bound` of every element.
static AbstractValue everywhere(double bound, size_t rank) {
  return AbstractValue::within(-bound, bound, rank);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

ErrorBounds::ErrorBounds(ModuleOp module, const RangeAnalysis &ranges)
    : ranges(ranges), context(ranges.context()), storage(ranges) {
  Operation *terminator = findReturn(module);
  if (!terminator)
    return;
  scratch = ModuleOp::create(module.getLoc());
  Block &body = *terminator->getBlock();
  for (BlockArgument argument : body.getArguments()) {
    if (!isFloat(argument))
      same.insert(argument);
    else
      settle(argument, everywhere(0, ranges.of(argument).rank()), true);
  }
  for (Operation &op : body) {
    visit(&op);
    ranges.limitRounded();
  }
}

/// True if non-float results are the same because the operands are.
bool ErrorBounds::isSame(Operation *op) const {
  if (isa<mp::ShapeOp, mp::SizeOp>(op))
    return true;
  if (op->getNumOperands() == 0)
    return false; // random numbers
  bool exact = isa<mp::CastOp, mp::EqualOp, mp::NotEqualOp, mp::LessOp,
                   mp::LessEqualOp, mp::GreaterOp, mp::GreaterEqualOp>(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (!isFloat(operand))
      return same.contains(operand);
    std::optional<double> error = of(operand);
    return exact && error && *error == 0;
  });
}

void ErrorBounds::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() != 0 ||
      op->getNumResults() == 0)
    return;
  if (isa<mp::ConstantOp>(op)) {
    Value result = op->getResult(0);
    if (!isFloat(result))
      same.insert(result);
    else if (!ranges.of(result).mayBeNonFinite())
      errors[result] = everywhere(0, ranges.of(result).rank());
    return;
  }
  if (llvm::none_of(op->getResults(), isFloat)) {
    if (isSame(op))
      same.insert(op->result_begin(), op->result_end());
    return;
  }
  for (Value operand : op->getOperands())
    if (isFloat(operand)
            ? !errors.contains(operand) || ranges.of(operand).mayBeNonFinite()
            : !same.contains(operand))
      return;
  Value result = op->getResult(0);
  if (!isFloat(result))
    return;
  if (Error error = carry(op))
    settle(result, std::move(*error), false);
}

/// True if the results are elements of operands, the numbers that the op names
/// aside.
static bool copiesOperands(Operation *op) {
  return hasRole(op, Role::MovesElements | Role::Concatenation | Role::Select |
                         Role::Negation) ||
         isa<mp::CastOp, mp::IdentityOp, mp::MaxPoolOp, mp::GlobalMaxPoolOp,
             mp::AdaptiveMaxPoolOp, mp::ReduceMaxOp, mp::ReduceMinOp, mp::MaxOp,
             mp::MinOp, mp::ClipOp>(op);
}

ErrorBounds::Error ErrorBounds::carry(Operation *op) {
  if (op->getNumOperands() == 0)
    return std::nullopt;
  if (isa<mp::CastOp>(op)) {
    Value from = op->getOperand(0);
    if (!isFloat(from))
      return everywhere(0, ranges.of(op->getResult(0)).rank());
    return errors.lookup(from);
  }
  for (auto carries : {&ErrorBounds::carryElementwise,
                       &ErrorBounds::carryFunction, &ErrorBounds::carryProducts,
                       &ErrorBounds::carrySum, &ErrorBounds::carrySoftmax,
                       &ErrorBounds::carryBatchNorm, &ErrorBounds::carryCopies})
    if (Error error = (this->*carries)(op))
      return error;
  return std::nullopt;
}

/// True if the formats to which a constant is rounded hold all of its elements.
/// Large ones are not read.
static bool isExactConstant(Value value, TransferContext &context) {
  std::optional<WeightView> view = context.weights(value);
  if (!view)
    return false;
  WeightView exact = *view;
  exact.roundings.clear();
  constexpr int64_t kMostRead = 1 << 8;
  int64_t size =
      exact.splat ? std::min<int64_t>(exact.size(), 1) : exact.size();
  if (size > kMostRead)
    return false;
  SmallVector<double> numbers(size);
  exact.read(0, numbers);
  return llvm::all_of(numbers, [&](double number) {
    return llvm::all_of(view->roundings, [&](const FloatFormat *format) {
      return format->round(number) == number;
    });
  });
}

/// Adds what both computations round of a result, and keeps it if it says
/// something.
void ErrorBounds::settle(Value result, AbstractValue error, bool isInput) {
  const AbstractValue &before = ranges.preRounding(result);
  if (ranges.of(result).mayBeNonFinite() || before.mayBeNonFinite())
    return;
  const FloatFormat *format = getFloatFormat(getElementType(result));
  if (!format)
    return;
  Operation *op = result.getDefiningOp();
  bool copies = isInput || copiesOperands(op);
  bool rounds = storage.rounds(result);
  bool narrow = format->digits < FloatFormat::f32().digits;
  const FloatFormat &f32 = FloatFormat::f32();
  bool exact = isExactConstant(result, context);
  auto rounding = [&](double most, double error) {
    double sum = 0;
    if (narrow && !exact) {
      // A multiple by a power of two is rounded where it is subnormal.
      if (rounds || !copies)
        sum += 0.5 * format->minSubnormal;
      if (rounds || (op && hasRole(op, Role::Picks) && !copies))
        sum += most * format->unitRoundoff();
      // Zero is as near to a number as its magnitude says.
      sum = std::min(sum, most);
    }
    // FP32, and what P computes in it before it rounds.
    if (!copies || (isa_and_nonnull<mp::CastOp>(op) && !exact && !rounds))
      sum += 2.1 * (most + error) * f32.unitRoundoff() + 2 * f32.minNormal;
    return sum * (1 + 1e-9);
  };
  SmallVector<AbstractValue, 2> values = {before, std::move(error)};
  for (AbstractValue &value : values)
    value.dropClaims();
  AbstractValue::Dims dims = broadcastGroups(values, context.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  double largest = 0;
  bool fits = true;
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    double most = values[0].cell(at[0]).absMax();
    double own = values[1].cell(at[1]).absMax();
    fits &= most < format->overflowFrom && most + own < f32.maxFinite;
    double sum = own + rounding(most, own);
    cells[group] = {-sum, sum};
    largest = std::max(largest, sum);
  });
  Magnitudes size = ranges.magnitudes(result);
  if (!fits || !(largest <= size.likely.value_or(size.bound)))
    return;
  errors[result] = AbstractValue(dims, cells);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

std::optional<double> ErrorBounds::of(Value value) const {
  auto found = errors.find(value);
  if (found == errors.end())
    return std::nullopt;
  return found->second.magnitudes().bound;
}

/// A bound from below of the largest magnitude of an element.
static double leastPeak(Value value, const RangeAnalysis &ranges) {
  double least = 0;
  auto consider = [&](Value value) {
    const AbstractValue &stored = ranges.of(value);
    for (const Cell &cell : stored.cells())
      if (!cell.empty())
        least = std::max({least, cell.lo, -cell.hi});
    // One of n numbers that add up to 1 is 1 / n or more.
    if (stored.rowSum && stored.rowSum->count > 0)
      least = std::max(least, stored.rowSum->lo / double(stored.rowSum->count));
  };
  consider(value);
  while (Operation *op = value.getDefiningOp()) {
    if (auto logarithm = dyn_cast<mp::LogSoftmaxOp>(op)) {
      // The logarithm of one of n probabilities is -log n or less.
      MaybeShape shape = getShape(value);
      int64_t axis = logarithm.getAxis();
      if (shape && !logarithm.getFlatten()) {
        axis += axis < 0 ? int64_t(shape->size()) : 0;
        if (axis >= 0 && axis < int64_t(shape->size()) && (*shape)[axis] > 0)
          least = std::max(least, 0.999 * std::log(double((*shape)[axis])));
      }
    }
    if (!isa<mp::CastOp, mp::IdentityOp>(op) && !hasRole(op, Role::Rearranges))
      break;
    value = op->getOperand(0);
    consider(value);
  }
  return least;
}

std::optional<double> ErrorBounds::relative(Value value) const {
  std::optional<double> error = of(value);
  if (!error)
    return std::nullopt;
  double least = leastPeak(value, ranges) - *error;
  if (!(least > 0))
    return *error == 0 ? error : std::nullopt;
  double relative = *error / least;
  // An error of all that there is says nothing.
  return relative < 1 ? std::optional(relative) : std::nullopt;
}

void mpopt::boundErrors(ModuleOp module, const RangeAnalysis &ranges,
                        OutputEffects &effects) {
  if (effects.outputs.empty())
    return;
  ErrorBounds bounds(module, ranges);
  for (OutputEffect &output : effects.outputs) {
    output.absoluteBound = bounds.of(output.value);
    output.bound = bounds.relative(output.value);
    if (!output.bound)
      continue;
    output.limit = std::min(output.limit, *output.bound);
    if (output.error)
      output.error = std::min(*output.error, output.limit);
  }
}
