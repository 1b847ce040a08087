//===- ExpressionBounds.cpp - Bounds of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic takes the occurrences of a variable as independent, which
// costs the less the narrower its interval is. The part whose image reaches
// farthest is split again and again (Moore, Skelboe 1974).
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Value/ElementwiseSupport.h"
#include "mpopt/Ranges/Value/Expression.h"

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Numerics/UnaryKernel.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Splits for each end of a bound, which may miss a value that is reached by
/// that share. 48 reach the least of x sigmoid(x) for |x| <= 65504.
static constexpr unsigned kSplits = 48;
static constexpr double kMissed = 0x1p-5;
/// Splits for the offset of a line, and samples for its slope.
static constexpr unsigned kLineSplits = 12, kSamples = 16;

FloatRange Expression::encloseStep(const Step &step,
                                   ArrayRef<FloatRange> earlier,
                                   const ComputeError &error) {
  const FloatRange &a = earlier[step.operands[0]],
                   &b = earlier[step.operands[1]],
                   &c = earlier[step.operands[2]];
  auto compare = [&](range::Comparison comparison) {
    return range::compare(comparison, a, b).toRange();
  };
  switch (step.kind) {
  case Kind::Variable:
  case Kind::Slope:
    return FloatRange::top();
  case Kind::Number:
    return FloatRange::point(step.number);
  case Kind::Function:
    return UnaryKernel(step.unary, error)(a);
  case Kind::Add:
    return range::add(a, b);
  case Kind::Sub:
    return range::sub(a, b);
  case Kind::Mul:
    return step.operands[0] == step.operands[1]
               ? UnaryKernel(Unary{UnaryFunction::Square}, error)(a)
               : range::mul(a, b);
  case Kind::Div:
    return range::div(a, b, error);
  case Kind::Pow:
    return range::pow(a, b, error);
  case Kind::Max:
    return range::max(a, b);
  case Kind::Min:
    return range::min(a, b);
  case Kind::Greater:
    return compare(range::Comparison::Greater);
  case Kind::GreaterEqual:
    return compare(range::Comparison::GreaterEqual);
  case Kind::Less:
    return compare(range::Comparison::Less);
  case Kind::LessEqual:
    return compare(range::Comparison::LessEqual);
  case Kind::Clip:
    return range::clip(a, b, c);
  case Kind::Where:
    return range::where(
        range::compare(range::Comparison::NotEqual, a, FloatRange::point(0)), b,
        c);
  }
  llvm_unreachable("unknown step");
}

FloatRange Expression::enclose(const FloatRange &x,
                               const ComputeError &error) const {
  if (roundsToCodes)
    return FloatRange::top();
  llvm::SmallVector<FloatRange, 8> results;
  for (const Step &step : steps) {
    FloatRange result = x;
    if (step.kind != Kind::Variable)
      // A step that needs fewer operands than three reads none of the others.
      result =
          encloseStep(step, results.empty() ? ArrayRef(x) : results, error);
    else if (step.format) // The exact number that was stored as x.
      result.finite = x.finite.widened(2 * step.format->unitRoundoff(),
                                       step.format->minSubnormal);
    if (step.format)
      result = join(result, result.store(*step.format));
    results.push_back(result);
  }
  return results.back();
}

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

namespace {
/// Parts of an interval with their images, and the values at some numbers.
struct Parts {
  using Image = llvm::function_ref<FloatRange(const Interval &)>;
  using At = llvm::function_ref<double(double)>;
  struct Part {
    Interval of;
    FloatRange image;
  };

  Parts(const Interval &x, Image image, At at) : image(image), at(at) {
    parts.push_back({x, image(x)});
    for (double end : {x.lo, x.hi})
      reached = hull(reached, Interval::point(at(end)));
  }
  void splitFarthest(bool above, unsigned splits);
  FloatRange all() const {
    FloatRange all;
    for (const Part &part : parts)
      all = join(all, part.image);
    return all;
  }

  Image image;
  At at;
  Interval reached = Interval::empty();
  SmallVector<Part, 0> parts;
};
} // namespace

void Parts::splitFarthest(bool above, unsigned splits) {
  auto isNearer = [&](const Part &a, const Part &b) {
    return above ? a.image.finite.hi < b.image.finite.hi
                 : a.image.finite.lo > b.image.finite.lo;
  };
  for (unsigned split = 0; split < splits; ++split) {
    Part &farthest = *llvm::max_element(parts, isNearer);
    double end = above ? farthest.image.finite.hi : farthest.image.finite.lo;
    double known = above ? reached.hi : reached.lo;
    if (std::fabs(end - known) <= kMissed * std::fabs(known))
      return;
    Interval of = farthest.of, right = of;
    of.hi = right.lo = splitPoint(of);
    if (!(of.lo < of.hi && right.lo < right.hi))
      return;
    reached = hull(reached, Interval::point(at(of.hi)));
    farthest = {of, image(of)};
    parts.push_back({right, image(right)});
  }
}

FloatRange Expression::bound(const FloatRange &x,
                             const ComputeError &error) const {
  if (roundsToCodes || !x.finite.isBounded())
    return FloatRange::top();
  // The results for Inf and NaN.
  FloatRange special = x;
  special.finite = Interval::empty();
  FloatRange result = special.isEmpty() ? special : enclose(special, error);
  if (x.finite.isEmpty())
    return result;
  auto image = [&](const Interval &part) {
    return enclose(FloatRange::of(part), error);
  };
  auto value = [&](double at) { return evaluate(at); };
  Parts parts(x.finite, image, value);
  for (bool above : {false, true})
    parts.splitFarthest(above, kSplits);
  return join(result, parts.all());
}

std::optional<Relaxation> Expression::relax(const Interval &x, double near,
                                            const ComputeError &error) const {
  if (roundsToCodes || x.isEmpty() || !x.isBounded())
    return std::nullopt;
  double points[kSamples + 1], values[kSamples + 1];
  for (unsigned i = 0; i <= kSamples; ++i)
    points[i] =
        std::clamp(x.lo + (x.hi - x.lo) * (double(i) / kSamples), x.lo, x.hi);
  // Functions bend near 0.
  if (x.contains(0.0))
    *llvm::min_element(
        MutableArrayRef(points).slice(1, kSamples - 1),
        [](double a, double b) { return std::fabs(a) < std::fabs(b); }) = 0;
  evaluate(points, values);
  SmallVector<Sample, kSamples + 1> samples;
  for (auto [at, value] : llvm::zip_equal(points, values))
    if (std::isfinite(value))
      samples.push_back({at, value});
  Relaxation result;
  for (bool above : {false, true}) {
    Line &line = above ? result.upper : result.lower;
    line.slope = supportSlope(samples, x.lo * (1 - near) + x.hi * near, above);
    if (!std::isfinite(line.slope))
      line.slope = 0;
    auto image = [&](const Interval &part) {
      FloatRange image = enclose(FloatRange::of(part), error);
      image.finite = image.finite - part * line.slope;
      return image;
    };
    auto value = [&](double at) { return evaluate(at) - line.slope * at; };
    Parts parts(x, image, value);
    parts.splitFarthest(above, kLineSplits);
    FloatRange rest = parts.all();
    if (!rest.isFinite() || !rest.finite.isBounded())
      return std::nullopt;
    line.offset = above ? rest.finite.hi : rest.finite.lo;
  }
  return result;
}

ComputeError mpopt::errorOfSteps(const Expression &expression, Value result,
                                 TransferContext &ctx) {
  ComputeError error = functionError(ctx, result);
  for (Value value : expression.values())
    if (ComputeError its = functionError(ctx, value);
        its.scale != 0 && its.format->digits < error.format->digits)
      error = its;
  error.absolute = std::max(error.absolute, ctx.target().approximation());
  return error;
}
