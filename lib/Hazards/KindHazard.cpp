//===- KindHazard.cpp - Why ops of a kind are kept in FP32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/KindHazard.h"

#include "mpopt/Hazards/RangeSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
class KindHazard {
public:
  KindHazard(Role roles, ArrayRef<Operation *> members, Type type,
             const RangeAnalysis &ranges)
      : roles(roles), members(members), format(*getFloatFormat(type)),
        ranges(ranges) {}

  std::string describe() const;

private:
  bool has(Role role) const { return bitEnumContainsAny(roles, role); }
  bool leavesRange() const;
  bool isExpectedFarBelow() const;
  bool squaresLeaveRange() const;
  bool readsBelow(double magnitude) const;
  bool readsPast(double edge, Role of) const;
  bool hasLongSum(double most) const;
  std::string describeSum(StringRef stops, double most) const;
  std::string describePower() const;
  std::string describeDigits() const;

  Role roles;
  ArrayRef<Operation *> members;
  const FloatFormat &format;
  const RangeAnalysis &ranges;
};
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// True if a result, or a number that an op computes on the way, may be past
/// the largest value of the dtype although what the members read is not.
bool KindHazard::leavesRange() const {
  for (Operation *op : members) {
    bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
      return isFloat(operand) && ranges.of(operand).mayBeInf();
    });
    for (Value result : op->getResults()) {
      const FloatFormat *own = getFloatFormat(getElementType(result));
      if (!own || ranges.magnitudes(result).bound >= format.overflowFrom ||
          (!reads && ranges.of(result).mayBeInf()))
        return true;
    }
  }
  return false;
}

/// True if no result is expected anywhere near the largest value.
bool KindHazard::isExpectedFarBelow() const {
  constexpr double kFar = 16;
  return llvm::all_of(members, [&](Operation *op) {
    return llvm::all_of(op->getResults(), [&](Value result) {
      std::optional<double> likely = ranges.magnitudes(result).likely;
      return likely && *likely < format.maxFinite / kFar;
    });
  });
}

/// True if a logarithm reads the value, casts aside.
static bool isReadByLogarithm(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return hasRole(user, Role::Logarithm) ||
           (isa<mp::CastOp>(user) && isReadByLogarithm(user->getResult(0)));
  });
}

/// True if the squares that an op adds up inside may be past the largest value,
/// of which its result, divided by their root, shows nothing.
bool KindHazard::squaresLeaveRange() const {
  Operation *op = members.front();
  if (members.size() > 1 || !has(Role::InnerSquares))
    return false;
  MaybeShape from = getShape(op->getOperand(0));
  std::optional<int64_t> to = getNumElements(getShape(op->getResult(0)));
  std::optional<int64_t> all = getNumElements(from);
  if (!all || !to || *to == 0)
    return true;
  int64_t terms = *all > *to ? *all / *to : from->empty() ? 1 : from->back();
  double most = boundMagnitude(ranges.of(op->getOperand(0)));
  return most * most * double(terms) >= format.overflowFrom;
}

/// True if the first member's argument may have elements of a smaller
/// magnitude, and not only zeros.
bool KindHazard::readsBelow(double magnitude) const {
  const AbstractValue &read = ranges.of(members.front()->getOperand(0));
  if (read.minNonZero > magnitude)
    return false;
  return llvm::any_of(read.cells(), [&](const Cell &cell) {
    return !cell.empty() && cell.lo <= magnitude && cell.hi >= -magnitude;
  });
}

/// True if an argument of a member that has one of the roles, or else of the
/// first member, may be past `edge`.
bool KindHazard::readsPast(double edge, Role of) const {
  bool found = false;
  for (Operation *op : members) {
    if (!hasRole(op, of) && members.size() > 1)
      continue;
    found = true;
    for (Value operand : op->getOperands())
      if (isFloat(operand) && !isConstant(operand) &&
          boundMagnitude(ranges.of(operand)) >= edge)
        return true;
  }
  return !found &&
         boundMagnitude(ranges.of(members.front()->getOperand(0))) >= edge;
}

/// True if a sum may have more than `most` terms.
bool KindHazard::hasLongSum(double most) const {
  for (Operation *op : members) {
    std::optional<int64_t> from = getNumElements(getShape(op->getOperand(0)));
    std::optional<int64_t> to = getNumElements(getShape(op->getResult(0)));
    if (!from || !to)
      return true;
    if (double(*from) > most * double(std::max<int64_t>(*to, 1)))
      return true;
  }
  return false;
}

std::string KindHazard::describeDigits() const {
  std::string digits = std::to_string(format.digits) + " significant bits";
  Cell hull = ranges.of(members.back()->getResult(0)).hull();
  if (leavesRange() || hull.empty())
    return digits + " are left";
  return digits + " are left of results in [" + formatNumber(hull.lo) + ", " +
         formatNumber(hull.hi) + "]";
}

/// `stops`: the multiple of an addend at which a running sum no longer grows,
/// in words and as the number `most` of terms.
std::string KindHazard::describeSum(StringRef stops, double most) const {
  bool leaves = leavesRange() && !isExpectedFarBelow(),
       grows = hasLongSum(most);
  std::string edge = "a sum past " + formatNumber(format.maxFinite) + " is Inf";
  std::string end = "stops growing at " + stops.str() + " times an addend";
  if (leaves)
    return grows ? edge + ", and " + end : edge;
  return grows ? "a running sum " + end : describeDigits();
}

std::string KindHazard::describePower() const {
  double degree = 2;
  if (has(Role::Power) && !has(Role::Square | Role::SumOfSquares)) {
    std::optional<double> exponent =
        members.back()->getNumOperands() > 1
            ? getSplatConstant(members.back()->getOperand(1))
            : std::nullopt;
    if (!exponent)
      return leavesRange() ? "a power leaves the range soon" : describeDigits();
    degree = *exponent;
    if (degree <= 1)
      return describeDigits();
  }
  if (!leavesRange() && !squaresLeaveRange())
    return describeDigits();
  // 65536 is 2^16, which rounds to Inf.
  double edge =
      std::pow(std::exp2(std::ceil(std::log2(format.maxFinite))), 1 / degree);
  if (!readsPast(edge * (1 - format.unitRoundoff()),
                 Role::Square | Role::SumOfSquares | Role::InnerSquares |
                     Role::Power))
    return "a sum past " + formatNumber(format.maxFinite) + " is Inf";
  return degree == 2 ? "the square of " + formatNumber(edge) + " is already Inf"
                     : formatNumber(edge) + " to the power of " +
                           formatNumber(degree) + " is already Inf";
}

std::string KindHazard::describe() const {
  Role squares =
      Role::Square | Role::SumOfSquares | Role::InnerSquares | Role::Power;
  // A mean loses as much, but stays among its elements.
  bool sums = has(Role::Sum | Role::MagnitudeSum | Role::Addition) &&
              !has(squares | Role::Mean);
  bool wide = format.maxFinite > FloatFormat::f16().maxFinite;
  if (sums)
    return describeSum(wide ? "256" : "2048", wide ? 256 : 2048);
  if (wide)
    return has(Role::Softmax) ? "probabilities keep 2 decimal digits"
                              : describeDigits();
  if (has(Role::Softmax)) {
    Value result = members.back()->getResult(0);
    bool vanish =
        llvm::any_of(ranges.preRounding(result).cells(), [&](const Cell &cell) {
          return cell.lo <= format.flushAt;
        });
    if (!vanish)
      return describeDigits();
    return std::string("probabilities below 3e-8 are 0") +
           (isReadByLogarithm(result) ? ", and their logarithm -Inf" : "");
  }
  if (has(Role::Exponential | Role::InnerExponential))
    return readsPast(std::log(format.overflowFrom),
                     Role::Exponential | Role::InnerExponential)
               ? "an exponential is Inf above 11.09"
               : describeDigits();
  if (has(Role::Logarithm | Role::Reciprocal))
    return readsBelow(format.flushAt)
               ? "arguments below 3e-8 are already 0 there"
               : describeDigits();
  if (has(squares))
    return describePower();
  if (has(Role::LongProduct) && leavesRange())
    return "a product leaves the range after a few factors";
  if (has(Role::Steep))
    return "11 significant bits are left where the function is steep";
  return leavesRange() ? "its results may leave the range" : describeDigits();
}

std::string mpopt::describeKindHazard(Role roles, ArrayRef<Operation *> members,
                                      Type type, const RangeAnalysis &ranges) {
  return KindHazard(roles, members, type, ranges).describe();
}
