//===- Enclosure.cpp - Bounds of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic takes the occurrences of a variable as independent, which
// costs the less the narrower its interval is. The part whose image reaches
// farthest is split again and again, first for the least and then for the
// greatest result (Moore, Skelboe 1974).
//
//===----------------------------------------------------------------------===//

#include "Enclosure.h"

#include "mpopt/Ranges/Relations/RelationSupport.h"
#include "mpopt/Ranges/Value/ElementwiseSupport.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// Splits for each end. 48 reach the least of x sigmoid(x) for |x| <= 65504 but
/// for a hundredth.
static constexpr unsigned kSplits = 48;

/// Where to split an interval: at 0, else in the middle, of its logarithm where
/// its ends are of different magnitudes.
static double splitPoint(const Interval &x) {
  constexpr double kWide = 16; // ratio of ends
  if (x.lo < 0 && x.hi > 0)
    return 0;
  double small = x.minAbs(), large = x.maxAbs();
  double middle = large / kWide;
  if (small * kWide >= large)
    middle = (small + large) / 2;
  else if (small * kWide * kWide > large)
    middle = std::sqrt(small) * std::sqrt(large);
  return x.hi > 0 ? middle : -middle;
}

/// The error of the least precise kernel among the steps.
static ComputeError errorOfSteps(Value variable, Value result,
                                 TransferContext &ctx) {
  ComputeError error = functionError(ctx, result);
  ComputeError first = functionError(ctx, variable);
  if (first.scale != 0 && first.format->digits < error.format->digits)
    error = first;
  error.absolute = std::max(error.absolute, ctx.target().approximation());
  return error;
}

void relations::encloseExpression(const Expression &expression, Operation *op,
                                  AbstractValue &value, TransferContext &ctx) {
  struct Part {
    Interval of;
    FloatRange image;
  };
  const AbstractValue &x = ctx.of(expression.variable());
  FloatRange all = x.range();
  if (!std::isfinite(all.finite.lo) || !std::isfinite(all.finite.hi))
    return;
  ComputeError error =
      errorOfSteps(expression.variable(), op->getResult(0), ctx);
  auto makePart = [&](double lo, double hi) {
    Interval of{lo, hi};
    return Part{of, expression.enclose(FloatRange::of(of), error)};
  };
  SmallVector<Part, 0> parts = {makePart(all.finite.lo, all.finite.hi)};
  for (bool above : {false, true})
    for (unsigned split = 0; split < kSplits; ++split) {
      Part &farthest =
          *llvm::max_element(parts, [&](const Part &a, const Part &b) {
            return above ? a.image.finite.hi < b.image.finite.hi
                         : a.image.finite.lo > b.image.finite.lo;
          });
      Interval of = farthest.of;
      double at = splitPoint(of);
      if (!(of.lo < at && at < of.hi))
        break;
      farthest = makePart(of.lo, at);
      parts.push_back(makePart(at, of.hi));
    }
  // What becomes of Inf and NaN.
  all.finite = Interval::empty();
  FloatRange image =
      all.isEmpty() ? parts.front().image : expression.enclose(all, error);
  for (const Part &part : parts)
    image = join(image, part.image);
  clamp(value, image.finite.lo, image.finite.hi);
  value.nan &= image.nan;
  value.posInf &= image.posInf;
  value.negInf &= image.negInf;
}
