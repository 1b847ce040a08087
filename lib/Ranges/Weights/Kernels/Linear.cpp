//===- Linear.cpp - Ranges of a product with known weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the pass' own rounding errors are bounded. Sums are over terms t = w q
// with coefficients q that are exact by definition: what rounding a centre to
// the tile's type loses is added to its radius, and radii are rounded up. A
// lane adds at most m terms in the tile's type (unit roundoff u), and lanes are
// added in double: the computed sum is off by at most
//   rel sum |t| + K eta,   rel = 1.25 ((m + 2) u + (K + 64) 2^-53),
// eta being half of the type's smallest subnormal, for products that underflow
// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1; 1.25 covers
// second-order terms and the few operations that follow). Coefficients are
// scaled by a power of two to at most 1. Weights so large or so small that a
// float's range does not do are summed again in double.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Linear.h"

#include "LinearPass.h"
#include "OperatorNorm.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Likely.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

/// Up to so many weights are summed in double.
static constexpr uint64_t kSmall = 1 << 17;

Interval LinearSums::bound(size_t channel) const {
  if (std::isinf(radius[channel]))
    return Interval::whole();
  return {subDown(centre[channel], radius[channel]),
          addUp(centre[channel], radius[channel])};
}

//===----------------------------------------------------------------------===//
// From sums to bounds
//===----------------------------------------------------------------------===//

namespace {
/// The error of a sum with `count` terms in the tile's type.
struct SumError {
  template <typename T> static SumError of(uint64_t count) {
    using Limits = std::numeric_limits<T>;
    double u = double(Limits::epsilon()) / 2;
    double relative =
        1.25 * ((kMaxTerms + 2) * u + (double(count) + 64) * 0x1p-53);
    // The factors cover the roundings of `up` and `of` themselves: three of
    // normal numbers, and of others one that the smallest double covers.
    constexpr double kOwn = 4 * 0x1p-53;
    return {relative * (1 + kOwn),
            mulUp(double(count) + 2, double(Limits::denorm_min())),
            addUp(1, 2 * relative + kOwn)};
  }

  /// An upper bound of the exact value of a sum of magnitudes.
  double up(double sum) const { return (sum + absolute) * factor; }
  /// An upper bound of the error of a sum whose terms' magnitudes add up to
  /// `terms`.
  double of(double termsUp) const { return relative * termsUp + absolute; }

  double relative, absolute, factor;
};
} // namespace

template <typename T>
static void finishUniform(const LinearRequest &request, const Raw &raw,
                          size_t channel, LinearSums &result) {
  SumError error = SumError::of<T>(request.k);
  InputAt at{request};
  const LinearInputs &inputs = request.inputs;
  double sum = raw.sums[Centre][channel], size = raw.sums[Sizes][channel];
  double sizeUp = error.up(size);
  double centre = at.get(inputs.centre, 0, 0);
  double radius = at.get(inputs.radius, 0, 0);
  if (at.unbounded(0, 0)) {
    // Only the values that are not finite would make 0 times them matter.
    result.radius[channel] = result.terms[channel] = size > 0 ? kInfinity : 0;
  } else if (centre != 0 || radius != 0) {
    double magnitude = std::fabs(centre), product = centre * sum;
    result.centre[channel] = product;
    result.radius[channel] =
        addUp(addUp(mulUp(radius, sizeUp), mulUp(magnitude, error.of(sizeUp))),
              product == 0 ? 0
                           : addUp(mulUp(std::fabs(product), 0x1p-53),
                                   std::numeric_limits<double>::denorm_min()));
    if (product == 0 && magnitude != 0)
      result.radius[channel] = nextUp(result.radius[channel]);
    result.terms[channel] = mulUp(addUp(magnitude, radius), sizeUp);
  }
  result.mean[channel] = clamped(at.get(inputs.mean, 0, 0)) * sum;
  result.variance[channel] =
      clamped(at.get(inputs.variance, 0, 0)) * raw.sums[Squares][channel];
  result.tail[channel] = clamped(at.get(inputs.halfRange, 0, 0)) *
                         likely::tailFromPower(raw.sums[Sixth][channel]);
}

template <typename T>
static void finishChannel(const LinearRequest &request, const Raw &raw,
                          const Coefficients<T> &coefficients, size_t channel,
                          LinearSums &result) {
  SumError error = SumError::of<T>(request.k);
  double scale = coefficients.boundScale;
  double terms = error.up(raw.sums[Terms][channel]);
  double centre = raw.sums[Centre][channel] * scale;
  result.centre[channel] = centre;
  result.radius[channel] =
      mulUp(addUp(error.up(raw.sums[Radius][channel]), error.of(terms)), scale);
  if (std::fabs(centre) < std::numeric_limits<double>::min())
    result.radius[channel] = nextUp(result.radius[channel]);
  result.terms[channel] = mulUp(terms, scale);
  result.mean[channel] = raw.sums[Mean][channel] * coefficients.meanScale;
  result.variance[channel] =
      raw.sums[Variance][channel] * coefficients.varianceScale;
  result.tail[channel] =
      coefficients.rangeScale * likely::tailFromPower(raw.sums[Sixth][channel]);
}

/// Frobenius and sqrt(|W|_1 |W|_inf), whichever is smaller.
template <typename T>
static void finishNorms(const LinearRequest &request, const Raw &raw,
                        LinearSums &result) {
  SumError along = SumError::of<T>(request.k);
  SumError across = SumError::of<T>(request.n);
  result.operatorNorm.assign(request.matrices, 0);
  for (uint64_t matrix = 0; matrix < request.matrices; ++matrix) {
    double frobenius = 0, one = 0, infinity = 0;
    for (uint64_t n = 0; n < request.n; ++n) {
      size_t channel = matrix * request.n + n;
      frobenius = addUp(frobenius, along.up(raw.sums[Squares][channel]));
      one = std::max(one, along.up(raw.sums[Sizes][channel]));
    }
    double norm = sqrtUp(frobenius);
    if (request.wantNorm) {
      for (uint64_t k = 0; k < request.k; ++k)
        infinity =
            std::max(infinity, across.up(raw.across[matrix * request.k + k]));
      norm = std::min(norm, sqrtUp(mulUp(one, infinity)));
    }
    result.operatorNorm[matrix] = norm;
  }
}

/// True if the range of a float was not enough: a sum overflowed, or the
/// squares of a channel that is not dead vanished, or the sixth powers did.
static bool lostRange(const Raw &raw, double range) {
  for (const std::vector<double> &sums : raw.sums)
    for (double sum : sums)
      if (!std::isfinite(sum))
        return true;
  double squares = 0, sixth = 0;
  for (double sum : raw.sums[Squares])
    squares = std::max(squares, sum);
  for (double sum : raw.sums[Sixth])
    sixth = std::max(sixth, sum);
  for (auto [sum, sizes] : llvm::zip_equal(raw.sums[Squares], raw.sums[Sizes]))
    if (sum < 0x1p-110 && sizes != 0)
      return true;
  return range > 0 && squares > 0 && sixth < 0x1p-100;
}

/// Sums again with 1 where nothing bounds the input: channels in which that is
/// not 0 are unbounded.
template <typename T>
static void markUnbounded(const LinearRequest &request,
                          const WeightReader &reader, bool perMatrix,
                          LinearSums &result) {
  size_t channels = request.matrices * request.n;
  LinearRequest again = request;
  std::vector<double> unbounded((perMatrix ? request.matrices : 1) * request.k);
  for (auto [at, value] : llvm::enumerate(unbounded))
    value = InputAt{request}.unbounded(at / request.k, at % request.k);
  again.inputs = {{}, unbounded, {}, {}, {}};
  again.wantNorm = false;
  Coefficients<T> indicator(again);
  Raw hits;
  for (std::vector<double> &sums : hits.sums)
    sums.assign(channels, 0);
  LinearPass<T>(again, reader, indicator, hits).run();
  ArrayRef<double> sizes = hits.sums[indicator.uniform ? Sizes : Radius];
  for (size_t channel = 0; channel < channels; ++channel)
    if (sizes[channel] != 0)
      result.radius[channel] = result.terms[channel] = kInfinity;
}

/// False if the weights need a wider type than T.
template <typename T>
static bool attempt(const LinearRequest &request, const WeightReader &reader,
                    LinearSums &result) {
  Coefficients<T> coefficients(request);
  Raw raw;
  size_t channels = request.matrices * request.n;
  for (std::vector<double> &sums : raw.sums)
    sums.assign(channels, 0);
  if (request.wantNorm)
    raw.across.assign(request.matrices * request.k, 0);
  if (channels != 0 && request.k != 0)
    LinearPass<T>(request, reader, coefficients, raw).run();
  double range = 0;
  for (double half : request.inputs.halfRange)
    range = std::max(range, half);
  if (std::is_same_v<T, float> && lostRange(raw, range))
    return false;

  SumError error = SumError::of<T>(request.k);
  for (size_t channel = 0; channel < channels; ++channel) {
    if (coefficients.uniform)
      finishUniform<T>(request, raw, channel, result);
    else
      finishChannel<T>(request, raw, coefficients, channel, result);
    result.norm[channel] = sqrtUp(error.up(raw.sums[Squares][channel]));
    // No sum of magnitudes underflows.
    if (raw.sums[Sizes][channel] == 0)
      result.centre[channel] = result.radius[channel] = result.terms[channel] =
          result.norm[channel] = 0;
    if (std::isnan(result.centre[channel]) ||
        std::isinf(result.centre[channel]) ||
        std::isnan(result.radius[channel])) {
      result.centre[channel] = 0;
      result.radius[channel] = kInfinity;
    }
    if (std::isnan(result.terms[channel]))
      result.terms[channel] = kInfinity;
  }
  finishNorms<T>(request, raw, result);
  result.flags = std::move(raw.flags);

  if (!coefficients.uniform && coefficients.anyUnbounded)
    markUnbounded<T>(request, reader, coefficients.perMatrix, result);
  return true;
}

LinearSums mpopt::linearSums(const LinearRequest &request) {
  WeightReader reader(request.weights);
  LinearSums result;
  size_t channels = request.matrices * request.n;
  for (std::vector<double> *list :
       {&result.centre, &result.radius, &result.terms, &result.norm,
        &result.mean, &result.variance, &result.tail})
    list->assign(channels, 0);
  if (!reader.fitsFloat() || channels * request.k <= kSmall ||
      !attempt<float>(request, reader, result))
    attempt<double>(request, reader, result);
  if (request.wantNorm)
    boundByGram(request, reader, result.operatorNorm);
  return result;
}
