//===- SpreadContext.cpp - Correlation of elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Spread/SpreadContext.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Numbers of terms
//===----------------------------------------------------------------------===//

Cell SpreadContext::normalCell(const Moments &moments, double count) {
  Likely likely =
      Likely::normal(moments.mean, moments.variance(), expectedExtreme(count));
  return {likely.lo,       likely.hi, likely.mean,
          likely.variance, likely.lo, likely.hi};
}

TermCount TermCount::along(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes,
                           const AxisRoles &roles, double samples) {
  TermCount count;
  for (int64_t axis : axes) {
    bool known = axis < int64_t(shape.size()) && shape[axis] > 0;
    double dim = known ? double(shape[axis]) : 1;
    if (axis == roles.batch) {
      double inside = std::min(dim, samples);
      count.samples *= inside;
      count.positions *= dim / inside;
    } else {
      (roles.isPosition(axis) ? count.positions : count.channels) *= dim;
    }
  }
  return count;
}

TermCount SpreadContext::countTerms(Value value, ArrayRef<int64_t> axes) {
  return countTerms(value, spread(value).axes, axes);
}

TermCount SpreadContext::countTerms(Value value, const AxisRoles &roles,
                                    ArrayRef<int64_t> axes) {
  Shape shape;
  for (int64_t axis = 0; axis < int64_t(rankOf(value)); ++axis)
    shape.push_back(dimOf(value, axis).value_or(1));
  return TermCount::along(shape, axes, roles, samples());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// The leading dim that most arguments have: frameworks put samples there.
double SpreadContext::countSamples(FunctionOpInterface function) {
  if (auto declared = function->getAttrOfType<IntegerAttr>(kMicroBatchAttr))
    return std::max<double>(1, declared.getInt());
  for (BlockArgument argument : function.getArguments())
    if (MaybeShape shape = getShape(argument); shape && !shape->empty())
      return shape->front() > 0 ? shape->front() : 1;
  return 1;
}

Spread SpreadContext::spreadOfArgument(BlockArgument argument, double samples) {
  MaybeShape shape = getShape(argument);
  Spread spread;
  if (shape && !shape->empty() &&
      (samples == 1 || shape->front() == int64_t(samples)))
    spread.axes.batch = 0;
  if (shape && isa<IntegerType>(getElementType(argument)))
    for (size_t axis = 1; axis < std::min<size_t>(shape->size(), 32); ++axis)
      spread.axes.positions |= 1u << axis;
  return spread;
}

/// The declared frequencies of `count` classes or rows; empty if nothing is
/// declared.
static std::vector<double> declaredFrequencies(Value indices, size_t count) {
  DictionaryAttr assumed = getAssumption(peel(indices, Peel::CastsAndViews));
  if (!assumed)
    return {};
  auto known = assumed.getAs<DenseFPElementsAttr>("frequencies");
  if (known && size_t(known.getNumElements()) == count)
    return std::vector<double>(known.value_begin<double>(),
                               known.value_end<double>());
  auto exponent = assumed.getAs<FloatAttr>("zipf");
  if (!exponent)
    return {};
  std::vector<double> result(count);
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += result[i] = std::pow(double(i + 1), -exponent.getValueAsDouble());
  for (double &share : result)
    share /= sum;
  return result;
}

std::vector<double> SpreadContext::frequencies(Value indices, size_t count) {
  double even = count ? 1 / double(count) : 0;
  if (count > groupLimit().most)
    return {even};
  std::vector<double> declared = declaredFrequencies(indices, count);
  return declared.empty() ? std::vector<double>(count, even) : declared;
}

double SpreadContext::coincidence(Value indices, size_t count) {
  std::vector<double> declared = declaredFrequencies(indices, count);
  if (declared.empty())
    return count ? 1 / double(count) : 0;
  double squares = 0;
  for (double share : declared)
    squares += share * share;
  return squares;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool SpreadContext::isUncorrelated() {
  return !computesGradient() &&
         llvm::all_of(current->getOperands(), [&](Value operand) {
           const Spread &its = spread(operand);
           return its.alike == 0 && its.steady == 0;
         });
}

/// The correlations of several operands, each weighted by its variance.
void SpreadContext::mixCorrelations(
    ArrayRef<std::pair<Value, const Spread *>> parts, Spread &mixed) {
  double weight = 0, alike = 0, steady = 0;
  for (auto [operand, its] : parts) {
    double part = of(operand).hull().variance;
    weight += part;
    alike += part * its->alike;
    steady += part * its->steady;
  }
  if (!(weight > 0) || !std::isfinite(weight))
    return;
  mixed.alike = alike / weight;
  mixed.steady = steady / weight;
}

/// The facts about operands that the op keeps in a result of that shape.
static void keepFacts(SpreadContext &ctx, const MaybeShape &shape,
                      Spread &spread) {
  Operation *op = ctx.op();
  // Sums of 0 stay that under factors that are the same for all.
  for (Value operand : op->getOperands())
    if (getShape(operand) == shape && ctx.isGradient(operand)) {
      spread.zeroSum = ctx.spread(operand).zeroSum;
      spread.alikeInRow = ctx.spread(operand).alikeInRow;
      spread.zeroRows = ctx.spread(operand).zeroRows;
      spread.answerAs(ctx.spread(operand));
    }
  if (op->getNumOperands() == 0)
    return;
  const Spread &first = ctx.spread(op->getOperand(0));
  if (isa<mp::CastOp>(op) || isViewLike(op) || hasRole(op, Role::Negation))
    spread.bounded = first.bounded;
  if (isa<mp::CastOp>(op))
    spread.unitSum = first.unitSum;
  if (hasRole(op, Role::KeepsZeros | Role::MovesElements))
    spread.zero = first.zero;
}

/// The spread of an operand in front of copies that were made along channels of
/// another operand, the last axis: a mean over channels that is subtracted from
/// them. Copies along positions keep the role that ExpandOp gives all copies.
static std::optional<Spread> spreadOfCopied(SpreadContext &ctx, Value operand,
                                            ArrayRef<int64_t> shape) {
  auto copies = getMaker<mp::ExpandOp>(operand);
  MaybeShape from = copies ? getShape(copies.getInput()) : std::nullopt;
  if (!from || from->size() != shape.size())
    return std::nullopt;
  Spread before = ctx.spread(copies.getInput());
  auto has = [&](Value other, size_t axis) {
    MaybeShape own = getShape(other);
    const AxisRoles &roles = ctx.spread(other).axes;
    return other != operand && own && own->size() == shape.size() &&
           (*own)[axis] == shape[axis] && roles.batch >= 0 &&
           roles.batch != int(axis) && !roles.isPosition(int64_t(axis));
  };
  bool isCopied = false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if ((*from)[axis] == shape[axis])
      continue;
    isCopied = true;
    if (axis + 1 != shape.size() ||
        llvm::none_of(ctx.op()->getOperands(),
                      [&](Value other) { return has(other, axis); }))
      return std::nullopt;
  }
  return isCopied ? std::optional<Spread>(before) : std::nullopt;
}

Spread SpreadContext::combineOperands(OpResult result) {
  Spread spread;
  MaybeShape shape = getShape(result);
  if (!shape)
    return spread;
  size_t rank = shape->size();
  double factors = -1;
  SmallVector<std::pair<Value, const Spread *>, 4> parts;
  bool varies = false;
  std::vector<std::optional<Spread>> copied;
  for (Value operand : current->getOperands())
    copied.push_back(spreadOfCopied(*this, operand, *shape));
  for (auto [operand, before] :
       llvm::zip_equal(current->getOperands(), copied)) {
    MaybeShape own = getShape(operand);
    const Spread &its = before ? *before : this->spread(operand);
    if (!own || own->size() > rank || its.axes.batch < 0)
      continue;
    unsigned shift = rank - own->size();
    bool fits = true;
    for (size_t axis = 0; axis < own->size(); ++axis)
      fits &= (*own)[axis] == (*shape)[axis + shift] || (*own)[axis] == 1;
    if (!fits)
      continue;
    if ((*own)[its.axes.batch] == (*shape)[its.axes.batch + shift])
      spread.axes.batch = its.axes.batch + int(shift);
    // An axis along which an operand is broadcast has the role that the others
    // give it.
    for (size_t axis = 0; axis + shift < std::min<size_t>(rank, 32); ++axis)
      if (its.axes.isPosition(int64_t(axis)) &&
          (*own)[axis] == (*shape)[axis + shift])
        spread.axes.positions |= 1u << (axis + shift);
    if (!isa<FloatType>(getElementType(operand)))
      continue;
    parts.push_back({operand, &its});
    varies |= its.alike != 0 || its.steady != 0;
    if (isGradient(operand) == computesGradient())
      factors = std::max(factors, its.factors);
  }
  // Independent elements stay independent: their variances need not be read.
  if (varies)
    mixCorrelations(parts, spread);
  spread.factors = factors < 0 ? 1 : factors;
  // Samples come first where nothing says otherwise.
  if (spread.axes.batch < 0 && samples() > 1 && rank > 0 && (*shape)[0] > 0 &&
      std::fmod((*shape)[0], samples()) == 0 &&
      llvm::any_of(current->getOperands(), [&](Value operand) {
        return this->spread(operand).axes.batch >= 0;
      }))
    spread.axes.batch = 0;
  keepFacts(*this, shape, spread);
  return spread;
}
