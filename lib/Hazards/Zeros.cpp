//===- Zeros.cpp - How sure it is that a value is stored as zero
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/Zeros.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MaskUse.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Ranges/Value/Expression.h"
#include "mpopt/Ranges/Value/FunctionOf.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <functional>

using namespace mlir;
using namespace mpopt;

bool mpopt::isUnknown(Value value, const RangeAnalysis &ranges) {
  const AbstractValue &computed = ranges.preRounding(value);
  if (computed.hasLikely())
    return false;
  Cell hull = computed.hull();
  return std::isinf(hull.lo) && std::isinf(hull.hi);
}

bool mpopt::isZeroByRounding(Value value, const RangeAnalysis &ranges) {
  const AbstractValue &computed = ranges.preRounding(value);
  return llvm::all_of(computed.cells(), [](const Cell &cell) {
    return cell.empty() || cell.lo > 0 || cell.hi < 0;
  });
}

/// True if the op gives zeros where all its float operands are, by `isZero`.
static bool givesZeros(Operation *op, llvm::function_ref<bool(Value)> isZero) {
  auto all = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) {
      return !isa<FloatType>(getElementType(value)) || isZero(value);
    });
  };
  if (op->getNumOperands() == 0 || op->getNumRegions() != 0)
    return false;
  if (isa<mp::CastOp>(op) || isViewLike(op))
    return isZero(op->getOperand(0));
  if (hasRole(op, Role::Multiplication))
    return llvm::any_of(op->getOperands(), isZero);
  if (hasRole(op, Role::Contraction) && !hasRole(op, Role::Quantization) &&
      op->getNumOperands() >= 2)
    return (isZero(op->getOperand(0)) || isZero(op->getOperand(1))) &&
           all(op->getOperands().drop_front(2));
  if (hasRole(op, Role::KeepsZeros | Role::Rectifier | Role::Square))
    return isZero(op->getOperand(0));
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    return exponent && *exponent > 0 && isZero(op->getOperand(0));
  }
  bool sums = hasRole(op, Role::Sum | Role::MagnitudeSum) &&
              !hasRole(op, Role::Logarithm | Role::ExponentialSum |
                               Role::InnerExponential);
  return (sums ||
          hasRole(op, Role::Addition | Role::Subtraction | Role::Negation |
                          Role::CopiesElements | Role::Concatenation)) &&
         all(op->getOperands());
}

bool mpopt::isZeroForZeros(Value value) {
  // Ops of a mask or of a norm's denominator; a bound on time alone.
  constexpr unsigned kMost = 256;
  llvm::DenseMap<Value, bool> known;
  std::function<bool(Value)> isZero = [&](Value value) {
    if (known.size() >= kMost)
      return false;
    auto [entry, isNew] = known.try_emplace(value, false);
    if (!isNew)
      return entry->second;
    bool result = false;
    Operation *op = value.getDefiningOp();
    // A mask of zeros leaves no sample.
    if (!op)
      result =
          isa<FunctionOpInterface>(value.getParentBlock()->getParentOp()) &&
          (isa<FloatType>(getElementType(value)) || !findMaskUse(value));
    else if (isConstant(value))
      result = getSplatConstant(value) == 0.0;
    else
      result = givesZeros(op, isZero);
    known[value] = result;
    return result;
  };
  return isZero(value);
}

/// True if no element of the constant is 0, as far as bytes tell.
static bool holdsNoZero(mp::ConstantOp constant) {
  constexpr size_t kMost = 1 << 20; // the filters of a layer
  std::optional<ConstantBytes> bytes = getConstantBytes(constant);
  Type element = getElementType(constant.getResult());
  size_t width =
      element.isIntOrFloat() ? element.getIntOrFloatBitWidth() / 8 : 0;
  if (!bytes || width == 0 || bytes->data.size() > kMost)
    return false;
  auto isNull = [](char byte) { return !byte; };
  for (ArrayRef<char> left = bytes->data; left.size() >= width;
       left = left.drop_front(width))
    if (llvm::all_of(left.take_front(width), isNull))
      return false;
  return true;
}

bool mpopt::isNonZeroForZeros(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_if_present<mp::ConstantOp>(op))
    return holdsNoZero(constant);
  if (!op || depth == 0 || op->getNumOperands() == 0)
    return false;
  auto inner = [&](unsigned operand) {
    return isNonZeroForZeros(op->getOperand(operand), depth - 1);
  };
  if (isa<mp::CastOp>(op) || isViewLike(op) ||
      hasRole(op, Role::Square | Role::KeepsZeros | Role::SumOfSquares |
                      Role::Division))
    return inner(0);
  // An exponential, a softplus: positive wherever it is not flushed, as the
  // numbers within 16 of 0 show.
  if (std::optional<Unary> function = getFunction(op);
      function && op->getNumOperands() == 1 &&
      image(*function, {-16, 16}).lo > 0)
    return true;
  if (hasRole(op, Role::Multiplication) && op->getNumOperands() == 2)
    return inner(0) && inner(1);
  if (hasRole(op, Role::Addition) && op->getNumOperands() == 2)
    return (inner(0) && isZeroForZeros(op->getOperand(1))) ||
           (inner(1) && isZeroForZeros(op->getOperand(0)));
  // Terms of one sign do not cancel.
  Operation *term = hasRole(op, Role::Sum)
                        ? getMaker(op->getOperand(0), Peel::CastsAndViews)
                        : nullptr;
  bool squares = hasRole(term, Role::Square) ||
                 (hasRole(term, Role::Multiplication) &&
                  term->getOperand(0) == term->getOperand(1));
  return squares && inner(0);
}

/// The largest constant that `op` adds or keeps its other operand above, and
/// that is 0 as stored: where the estimate ends there, the other operand has
/// none of its own.
static double lostGuard(Operation *op, const RangeAnalysis &ranges) {
  double most = 0;
  if (hasRole(op, Role::Addition | Role::LimitsBelow))
    for (Value operand : op->getOperands())
      if (isConstant(operand) && boundMagnitude(ranges.of(operand)) == 0)
        most = std::max(most, likelyMagnitude(ranges.of(operand)).value_or(0));
  return most;
}

/// True if the estimate expects values of the group that are stored as 0.
static bool expectsZero(const Cell &cell, double flushAt, bool exact,
                        double guard) {
  if (cell.likelyLo >= -flushAt && cell.likelyHi <= flushAt)
    return true;
  // The smaller end of a one-sided value flushes.
  if (cell.lo >= 0 && cell.likelyLo > guard && cell.likelyLo <= flushAt)
    return true;
  if (cell.hi <= 0 && cell.likelyHi < -guard && cell.likelyHi >= -flushAt)
    return true;
  return exact && cell.likelyLo <= flushAt && cell.likelyHi >= -flushAt;
}

/// The op by which the value is taken from a table of FP32 numbers; null if it
/// is not.
static mp::GatherOp findTable(Value value) {
  mp::GatherOp gather;
  for (Operation *op = value.getDefiningOp(); op && !gather;
       op = op->getOperand(0).getDefiningOp()) {
    if (!isa<mp::CastOp>(op) && !isViewLike(op))
      return {};
    gather = dyn_cast<mp::GatherOp>(op);
  }
  Value table =
      gather ? mpopt::peel(gather.getInput(), Peel::CastsAndViews) : Value();
  return table && table.getDefiningOp<mp::ConstantOp>() &&
                 getElementType(table).isF32()
             ? gather
             : mp::GatherOp();
}

/// The ops from the gather to the value.
static SmallVector<Operation *, 4> stepsBehind(Operation *gather, Value value) {
  llvm::SetVector<Operation *> steps;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    // A view of a constant is a step: only casts are looked through.
    auto isNumber = [](Value value) {
      return isa_and_present<mp::ConstantOp>(getMaker(value, Peel::Casts));
    };
    Operation *op = next.getDefiningOp();
    if (!op || isNumber(next) || !steps.insert(op) || op == gather)
      continue;
    llvm::append_range(work, op->getOperands());
  }
  return llvm::to_vector<4>(llvm::reverse(steps));
}

SmallVector<Operation *, 4>
mpopt::findLostOfTable(Value value, const RangeAnalysis &ranges) {
  constexpr size_t kMost = 1 << 16; // numbers, a bound on time alone
  std::optional<Expression> function =
      Expression::ofValue(mpopt::peel(value, Peel::CastsAndViews));
  mp::GatherOp gather =
      function ? findTable(function->variable()) : mp::GatherOp();
  const FloatFormat *format =
      gather ? getFloatFormat(getElementType(gather.getResult())) : nullptr;
  std::optional<ConstantBytes> bytes =
      format
          ? getConstantBytes(mpopt::peel(gather.getInput(), Peel::CastsAndViews)
                                 .getDefiningOp<mp::ConstantOp>())
          : std::nullopt;
  size_t count = bytes ? bytes->data.size() / sizeof(float) : 0;
  if (count < 2 || count > kMost)
    return {};
  std::vector<double> points(count), exact(count), stored(count);
  for (size_t at = 0; at < count; ++at)
    points[at] = llvm::bit_cast<float>(
        llvm::support::endian::read32le(&bytes->data[at * sizeof(float)]));
  function->evaluate(points, exact);
  for (double &point : points)
    point = format->round(point);
  function->evaluate(points, stored, /*asStored=*/true);
  Cell read = ranges.of(gather.getIndices()).hull();
  bool isRow = TransferContext::rankOf(gather.getInput()) == 1;
  for (size_t at = 0; at < count; ++at)
    if (stored[at] == 0 && exact[at] != 0 &&
        !(isRow && (double(at) < read.lo || double(at) > read.hi)))
      return stepsBehind(gather, value);
  return {};
}

/// True if a sum or difference, 1 - sigmoid(x), is expected to be 0 for some
/// element by its operand's rounding, though FP32 has another number there.
static bool losesDifference(Value value, const RangeAnalysis &ranges) {
  Value difference = mpopt::peel(value, Peel::CastsAndViews);
  Operation *op = difference.getDefiningOp();
  if (!hasRole(op, Role::Addition | Role::Subtraction))
    return false;
  std::optional<Expression> function = Expression::ofValue(difference);
  if (!function || !ranges.preRounding(function->variable()).hasLikely())
    return false;
  double most = 0; // of the numbers that FP32 rounds
  for (Value operand : op->getOperands())
    most = std::max(most, boundMagnitude(ranges.of(operand)));
  // Half of a step of FP32 below a number.
  double least = std::ldexp(most, -25);
  QuantilePoints exact, stored;
  size_t lost = 0, all = 0;
  for (const Cell &cell : ranges.preRounding(function->variable()).cells()) {
    if (!(cell.likelyLo <= cell.likelyHi))
      continue;
    QuantilePoints points = quantilesOf(cell);
    function->evaluate(points, exact);
    function->evaluate(points, stored, /*asStored=*/true);
    for (auto [number, made] : llvm::zip(exact, stored))
      lost += made == 0 && std::fabs(number) > least;
    all += points.size();
  }
  double count = ranges.context().elementsPerGroup(value, 1);
  return all > 0 && double(lost) / double(all) * std::max(count, 1.0) > 0.5;
}

std::optional<Certainty> mpopt::mayBeZero(Value value,
                                          const RangeAnalysis &ranges) {
  const AbstractValue &computed = ranges.preRounding(value);
  const FloatFormat *format = getFloatFormat(getElementType(value));
  double flushAt = format ? format->flushAt : 0;
  if (isUnknown(value, ranges) || computed.minNonZero > flushAt)
    if (isUnknown(value, ranges) ||
        llvm::none_of(computed.cells(), [](const Cell &cell) {
          return !cell.empty() && cell.lo <= 0 && cell.hi >= 0;
        }))
      return std::nullopt;
  Operation *op = value.getDefiningOp();
  bool always = !op || runsAlways(op);
  bool exact = computed.integral ||
               hasRole(getMaker(value, Peel::CastsAndViews), Role::MakesZeros);
  double guard = 1.01 * lostGuard(getMaker(value, Peel::CastsAndViews), ranges);
  std::optional<Certainty> sure;
  for (const Cell &cell : computed.cells()) {
    if (cell.empty() || cell.lo > flushAt || cell.hi < -flushAt)
      continue;
    Certainty found = Certainty::Possible;
    if (always && cell.lo >= -flushAt && cell.hi <= flushAt)
      found = Certainty::Certain;
    else if (computed.hasLikely() && expectsZero(cell, flushAt, exact, guard))
      found = Certainty::Likely;
    sure = std::max(sure.value_or(Certainty::Possible), found);
  }
  if (sure == Certainty::Possible && (!findLostOfTable(value, ranges).empty() ||
                                      losesDifference(value, ranges)))
    return Certainty::Likely;
  // An element that is 0 in front of a cast is 0 behind it.
  if (auto cast = dyn_cast_if_present<mp::CastOp>(op);
      cast && isa<FloatType>(getElementType(cast.getInput())))
    return std::max(sure, mayBeZero(cast.getInput(), ranges));
  return sure;
}

std::string mpopt::describeZero(Value value, Certainty certainty,
                                const RangeAnalysis &ranges) {
  std::string dtype;
  if (isZeroByRounding(value, ranges))
    dtype = " after rounding to " + getDtypeName(getElementType(value));
  switch (certainty) {
  case Certainty::Certain:
    return "is 0" + dtype + " for every input";
  case Certainty::Likely:
    return "is likely to be 0" + dtype;
  case Certainty::Possible:
    return "may be 0" + dtype;
  }
  llvm_unreachable("unknown certainty");
}

void mpopt::watchZeros(FindingBuilder &finding, Value value, StringRef part) {
  finding.watch(Decision::Zero, value, part);
  // A cast and a few views stand between a sum and what divides by it.
  constexpr unsigned kMost = 4;
  for (unsigned depth = 0; depth < kMost; ++depth) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0 ||
        !hasRole(op, Role::MovesElements | Role::KeepsZeros))
      return;
    value = op->getOperand(0);
    if (!isa<FloatType>(getElementType(value)))
      return;
    finding.watch(Decision::Zero, value, part);
  }
}
