//===- Cancellation.cpp - MP301: a difference of nearly equal values
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two forms whose operands are known to be close: x - mean(x), and the variance
// as E[x^2] - E[x]^2. 1 - p is MP306's.
//
//===----------------------------------------------------------------------===//

#include "passes/rules/Rules.h"
#include "passes/rules/range/OverflowSites.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/TypeSupport.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_CANCELLATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Cancellation : mpopt::impl::CancellationBase<Cancellation> {
  void check(ModuleOp module) override {
    const auto &ranges = getAnalysis<RangeAnalysis>();
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isAnyOf(op, {"sub"}) &&
          isLowPrecision(getElementType(op->getResult(0))))
        judge(op, ranges);
    });
  }

private:
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

static Value getMeanOf(Value value) {
  Operation *op = getSource(value);
  return isAnyOf(op, {"reduce_mean"}) ? peelCasts(op->getOperand(0)) : Value();
}

static Value getSquareOf(Value value) {
  Operation *op = getSource(value);
  return op && isSquare(op) ? peelCasts(op->getOperand(0)) : Value();
}

void Cancellation::judge(Operation *op, const RangeAnalysis &ranges) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  const FloatFormat &format = *getFloatFormat(getElementType(op->getResult(0)));
  Value centred, variance;
  if (getMeanOf(rhs) && getMeanOf(rhs) == peelCasts(lhs))
    centred = lhs;
  else if (Value squares = getMeanOf(lhs))
    if (Value base = getSquareOf(squares))
      if (Value mean = getSquareOf(rhs))
        if (getMeanOf(mean) == base)
          variance = base;
  Value value = centred ? centred : variance;
  if (!value || !ranges.of(value).hasLikely())
    return;
  Cell hull = ranges.of(value).hull();
  double spread = std::sqrt(hull.variance);
  double ratio = std::fabs(hull.mean) / spread;
  // Half an ulp of the mean, or of its square, against the result.
  double error = std::ldexp(1.0, -int(format.digits)) *
                 (centred ? ratio : 1 + ratio * ratio);
  if (!(error >= threshold("cancellation-error")))
    return;
  FindingBuilder finding = report(op, op->getResult(0));
  finding.likely()
      .message(std::string(centred ? "x - mean(x)" : "E[x^2] - E[x]^2") +
               " cancels: the mean is " + formatNumber(ratio) +
               " times the spread, and rounding to " + format.name +
               " is an error of " +
               formatNumber(std::round(std::min(error, 9.99) * 100)) +
               " % of the result" + (error > 9.99 ? " and more" : ""))
      .cause(value, "mean " + formatNumber(hull.mean) +
                        ", standard deviation " + formatNumber(spread));
  fixByKeeping(finding, getElementType(op->getResult(0)),
               centred ? "x, its mean and the difference"
                       : "the whole variance");
  if (variance)
    finding.fix("change-op", /*safe=*/false,
                "compute the variance as the mean of (x - mean(x))^2");
}
