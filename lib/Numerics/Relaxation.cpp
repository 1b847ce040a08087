//===- Relaxation.cpp - Lines above and below a function
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best upper line at a point of an interval supports the concave hull of
// the function there, so its slope is found on samples; the lower line's on the
// convex hull. Whatever the slope, the offset is then an end of a proven
// interval of f(x) - slope x: on a piece that is convex the greatest value is
// at an end, and the least one lies above the chords of its neighbours; on a
// concave one the other way round. Where pieces are not known, the images of
// many parts take their place.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Numerics/UnaryKernel.h"

#include <cmath>

using namespace mpopt;

/// Samples of an interval, the parts of one whose bends are not known, and the
/// rounds in which the least of a convex function is located. With 16 parts in
/// each of two rounds it is missed by 2^-15 of what the function bends by.
static constexpr unsigned kSamples = 16, kParts = 64, kRounds = 2;

namespace {
/// f(x) - slope x.
struct Tilted {
  const UnaryImage &function;
  double slope;

  Interval operator()(const Interval &x) const {
    return function.ofDomain(x) - x * slope;
  }
  Interval at(double x) const { return (*this)(Interval::point(x)); }
};
} // namespace

static double sampleAt(double lo, double hi, unsigned index) {
  if (index == kSamples)
    return hi;
  return std::clamp(lo + (hi - lo) * (double(index) / kSamples), lo, hi);
}

/// The end, at `to`, of the chord through (from, first) and (mid, second),
/// extended: rounded down for a chord of a convex function.
static double extend(double from, double first, double mid, double second,
                     double to) {
  double growth = subDown(second, first);
  // Three roundings.
  double factor =
      (to - mid) / (mid - from) * (growth > 0 ? 1 - 0x1p-50 : 1 + 0x1p-50);
  return addDown(second, mulDown(growth, factor));
}

/// A lower bound of a function that is convex on [lo, hi], `sign` times
/// `tilted`.
static double leastOfConvex(const Tilted &tilted, double sign, double lo,
                            double hi) {
  double points[kSamples + 1], low[kSamples + 1], high[kSamples + 1];
  double noise = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    unsigned least = 0;
    for (unsigned i = 0; i <= kSamples; ++i) {
      points[i] = sampleAt(lo, hi, i);
      if (i > 0 && !(points[i] > points[i - 1])) {
        // Neighbouring doubles: as an image.
        Interval all = tilted({lo, hi});
        return subDown(sign > 0 ? all.lo : -all.hi, noise);
      }
      Interval value = tilted.at(points[i]);
      low[i] = sign > 0 ? value.lo : -value.hi;
      high[i] = sign > 0 ? value.hi : -value.lo;
      if (!(high[i] - low[i] < kInfinity))
        return -kInfinity;
      if (low[i] < low[least])
        least = i;
      // Behind the neighbours of a sample that is least but for the error of
      // one evaluation, the function may fall by that error each step.
      noise = std::max(noise, 4 * kSamples * (high[i] - low[i]));
    }
    if (round + 1 == kRounds)
      break;
    lo = points[least == 0 ? 0 : least - 1];
    hi = points[std::min(least + 1, kSamples)];
  }
  double result = kInfinity;
  for (unsigned i = 0; i < kSamples; ++i) {
    double above = -kInfinity;
    if (i > 0)
      above = std::min(low[i], extend(points[i - 1], high[i - 1], points[i],
                                      low[i], points[i + 1]));
    if (i + 2 <= kSamples)
      above = std::max(
          above,
          std::min(low[i + 1], extend(-points[i + 2], high[i + 2],
                                      -points[i + 1], low[i + 1], -points[i])));
    result = std::min(result, above);
  }
  return subDown(result, noise);
}

/// f(x) - slope x over `x`, where the function bends one way.
static Interval tiltedPiece(const Tilted &tilted, const Interval &x,
                            Curvature curvature) {
  Interval ends = hull(tilted.at(x.lo), tilted.at(x.hi));
  if (curvature == Curvature::Convex)
    ends.lo = std::min(ends.lo, leastOfConvex(tilted, 1, x.lo, x.hi));
  if (curvature == Curvature::Concave)
    ends.hi = std::max(ends.hi, -leastOfConvex(tilted, -1, x.lo, x.hi));
  return ends;
}

/// An interval of f(x) - slope x over `x`, which is in the domain.
static Interval tiltedImage(const UnaryImage &function,
                            llvm::ArrayRef<Bend> bends, const Interval &x,
                            double slope) {
  Tilted tilted{function, slope};
  Interval result = Interval::empty();
  if (bends.empty()) {
    for (unsigned part = 0; part < kParts; ++part) {
      auto end = [&](unsigned index) {
        return index == kParts
                   ? x.hi
                   : std::clamp(x.lo + (x.hi - x.lo) * (double(index) / kParts),
                                x.lo, x.hi);
      };
      Interval piece = {end(part), end(part + 1)};
      result = hull(result, tilted(piece));
    }
    return result;
  }
  for (size_t index = 0; index < bends.size(); ++index) {
    double next = index + 1 < bends.size() ? bends[index + 1].from : kInfinity;
    Interval piece = intersect(x, {bends[index].from, next});
    if (!piece.isEmpty())
      result = hull(result, tiltedPiece(tilted, piece, bends[index].curvature));
  }
  return result;
}

double mpopt::supportSlope(llvm::ArrayRef<Sample> samples, double point,
                           bool above) {
  double sign = above ? 1 : -1;
  double best = -kInfinity, slope = 0;
  for (const Sample &left : samples)
    for (const Sample &right : samples) {
      if (!(left.x < point && point < right.x))
        continue;
      double rise = (right.y - left.y) / (right.x - left.x);
      double height = sign * (left.y + rise * (point - left.x));
      if (height > best) {
        best = height;
        slope = rise;
      }
    }
  return slope;
}

std::optional<Relaxation> UnaryKernel::relax(const Interval &x,
                                             double near) const {
  const FunctionFacts &facts = exact.facts;
  if (x.isEmpty() || !x.isBounded() || !facts.domain.contains(x) ||
      llvm::any_of(facts.poles,
                   [&](const Pole &pole) { return x.contains(pole.at); }))
    return std::nullopt;
  auto bendsOf = [](const UnaryImage &image) { return getBends(image.unary); };
  llvm::SmallVector<Bend, 4> bends = bendsOf(exact);
  bool straight = !bends.empty() && llvm::all_of(bends, [](const Bend &bend) {
    return bend.curvature == Curvature::Linear;
  });
  llvm::SmallVector<Sample, kSamples + 4> samples;
  auto add = [&](double at) {
    samples.push_back({at, evaluate(exact.unary, at)});
  };
  for (unsigned i = 0; i <= kSamples; i += straight ? kSamples : 1)
    add(sampleAt(x.lo, x.hi, i));
  for (const Bend &bend : bends)
    if (x.lo < bend.from && bend.from < x.hi)
      add(bend.from);
  Relaxation result;
  double most = 0, point = x.lo * (1 - near) + x.hi * near;
  for (bool upper : {false, true}) {
    Line &line = upper ? result.upper : result.lower;
    line.slope = supportSlope(samples, point, upper);
    if (!std::isfinite(line.slope))
      line.slope = 0;
    Interval rest = tiltedImage(exact, bends, x, line.slope);
    if (rounded)
      rest =
          hull(rest, tiltedImage(*rounded, bendsOf(*rounded), x, line.slope));
    Interval image = exact.ofDomain(x);
    if (rounded)
      image = hull(image, rounded->ofDomain(x));
    most = std::max(most, image.maxAbs());
    line.offset = upper ? rest.hi : rest.lo;
  }
  double off = errorOn(x, most);
  result.upper.offset = addUp(result.upper.offset, off);
  result.lower.offset = subDown(result.lower.offset, off);
  if (!std::isfinite(result.upper.offset) ||
      !std::isfinite(result.lower.offset))
    return std::nullopt;
  return result;
}
