//===- HeavyTerms.cpp - Sums that a few terms decide
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only the weights of the inputs that stand out are read again, so this costs
// next to nothing beside the pass over all of them.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/HeavyTerms.h"
#include "mpopt/Numerics/Infinity.h"

#include "Reader.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;
using namespace mpopt::kernels;

/// Inputs looked at, and how much of the variance one must have to be.
static constexpr size_t kMostHeavy = 16;
static constexpr double kLeastShare = 1.0 / 64;

/// The inputs of `matrix` with the most variance, whose extremes are nearer
/// than those of a normal value.
static std::vector<size_t> findHeavy(const LinearRequest &request,
                                     uint64_t matrix, double extreme) {
  const LinearInputs &inputs = request.inputs;
  auto at = [&](llvm::ArrayRef<double> list, uint64_t k) {
    if (list.empty())
      return 0.0;
    return list.size() == 1           ? list[0]
           : list.size() == request.k ? list[k]
                                      : list[matrix * request.k + k];
  };
  double total = 0;
  for (uint64_t k = 0; k < request.k; ++k)
    total += at(inputs.variance, k);
  std::vector<size_t> heavy;
  if (!(total > 0) || !std::isfinite(total))
    return heavy;
  auto variance = [&](size_t k) { return at(inputs.variance, k); };
  for (uint64_t k = 0; k < request.k; ++k) {
    double own = variance(k), half = at(inputs.halfRange, k);
    if (own >= kLeastShare * total && half * half < extreme * extreme * own)
      heavy.push_back(k);
  }
  if (heavy.size() > kMostHeavy) {
    llvm::stable_sort(
        heavy, [&](size_t a, size_t b) { return variance(a) > variance(b); });
    heavy.resize(kMostHeavy);
  }
  return heavy;
}

namespace {
struct HeavyTerm {
  double half, variance;
};
} // namespace

/// `rest` is the variance of the other terms.
static double leastReach(llvm::MutableArrayRef<HeavyTerm> terms, double rest,
                         double extreme) {
  llvm::sort(terms, [](const HeavyTerm &a, const HeavyTerm &b) {
    return a.half < b.half;
  });
  // From all terms taken as they are to none.
  double linear = 0;
  for (const HeavyTerm &term : terms)
    linear += term.half;
  double least = linear + extreme * std::sqrt(rest);
  for (const HeavyTerm &term : terms) {
    linear -= term.half;
    rest += term.variance;
    least = std::min(least, std::max(linear, 0.0) + extreme * std::sqrt(rest));
  }
  return least;
}

std::vector<double> mpopt::reachOfHeavyTerms(const LinearRequest &request,
                                             const LinearSums &sums,
                                             double extreme) {
  std::vector<double> reach;
  const LinearInputs &inputs = request.inputs;
  // Zero points shift the weights; such products are of integers.
  if (!request.weights.zeroPoints.empty() || inputs.variance.empty() ||
      inputs.halfRange.empty())
    return reach;
  WeightReader reader(request.weights);
  std::vector<double> row(request.n);
  for (uint64_t matrix = 0; matrix < request.matrices; ++matrix) {
    std::vector<size_t> heavy = findHeavy(request, matrix, extreme);
    if (heavy.empty())
      continue;
    if (reach.empty())
      reach.assign(sums.size(), kInfinity);
    auto at = [&](llvm::ArrayRef<double> list, uint64_t k) {
      return list.size() == 1           ? list[0]
             : list.size() == request.k ? list[k]
                                        : list[matrix * request.k + k];
    };
    std::vector<HeavyTerm> terms(heavy.size() * request.n);
    uint64_t base = matrix * request.k * request.n;
    auto ignore = [](size_t, uint8_t) {};
    for (auto [index, k] : llvm::enumerate(heavy)) {
      if (request.transposed)
        for (uint64_t n = 0; n < request.n; ++n)
          reader.read(base + n * request.k + k, 1, &row[n], ignore);
      else
        reader.read(base + k * request.n, request.n, row.data(), ignore);
      for (uint64_t n = 0; n < request.n; ++n)
        terms[n * heavy.size() + index] = {
            std::fabs(row[n]) * at(inputs.halfRange, k),
            row[n] * row[n] * at(inputs.variance, k)};
    }
    for (uint64_t n = 0; n < request.n; ++n) {
      llvm::MutableArrayRef<HeavyTerm> own(&terms[n * heavy.size()],
                                           heavy.size());
      size_t channel = matrix * request.n + n;
      double rest = sums.variance[channel];
      for (const HeavyTerm &term : own)
        rest -= term.variance;
      reach[channel] = leastReach(own, std::max(rest, 0.0), extreme);
    }
  }
  return reach;
}
