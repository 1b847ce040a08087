//===- Convolution.cpp - Ranges of a convolution with known weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution is a product with its weights as a matrix per group, unless it
// matters which taps are summed. It does in a transposed convolution, where no
// position sees the whole kernel, and where padding's zeros lie outside an
// input's interval: else the interior's bound holds whatever taps are missing,
// as every term may be 0. Then the pass sums
// each tap by itself, and the sets of taps are added up from those.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"

#include "Reader.h"
#include "TapSets.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

using namespace mpopt;
using namespace mpopt::kernels;
using llvm::ArrayRef;

/// Additions that combining sets of taps may take.
static constexpr uint64_t kMaxCombining = 1 << 27;
/// Positions of an axis and combinations of taps that are looked at, and the
/// share of positions inside from which those at borders do not matter.
static constexpr int64_t kMostBorders = 4096;
static constexpr double kMostInside = 0.9;

uint64_t ConvolutionRequest::taps() const {
  uint64_t count = 1;
  for (const ConvolutionAxis &axis : axes)
    count *= axis.kernel;
  return count;
}

namespace {
/// The inputs' lists repeated to fit another layout; they own their memory.
struct Expanded {
  std::vector<double> lists[5];

  /// `index` maps a position of the new list of `count` entries to the channel.
  LinearInputs set(const LinearInputs &values, size_t count,
                   llvm::function_ref<size_t(size_t)> index) {
    LinearInputs result = values;
    ArrayRef<double> *from[] = {&result.centre, &result.radius, &result.mean,
                                &result.variance, &result.halfRange};
    for (auto [list, to] : llvm::zip(from, lists)) {
      if (list->size() <= 1)
        continue;
      to.resize(count);
      for (size_t at = 0; at < count; ++at)
        to[at] = (*list)[index(at)];
      *list = to;
    }
    return result;
  }
};
} // namespace

static bool excludesZero(const LinearInputs &values) {
  auto at = [](ArrayRef<double> list, size_t index) {
    return list.empty() ? 0 : list[list.size() == 1 ? 0 : index];
  };
  size_t count = std::max(values.centre.size(), values.radius.size());
  for (size_t index = 0; index < count; ++index)
    if (std::fabs(at(values.centre, index)) > at(values.radius, index))
      return true;
  return false;
}

/// Every tap at every position.
static bool isWhole(const ConvolutionRequest &request) {
  return llvm::all_of(request.axes, [](const ConvolutionAxis &axis) {
    return axis.padBegin <= 0 && axis.padEnd <= 0;
  });
}

/// True if some position sees the whole kernel; a dilated one may be larger
/// than the map.
static bool hasInside(const ConvolutionRequest &request) {
  return llvm::all_of(request.axes, [](const ConvolutionAxis &axis) {
    if (axis.inputSize < 0)
      return true;
    uint64_t pad = std::max<int64_t>(axis.padBegin, 0);
    int64_t first = llvm::divideCeil(pad, uint64_t(axis.stride));
    return first < axis.outputSize(/*transposed=*/false) &&
           axis.input(first, axis.kernel - 1, /*transposed=*/false);
  });
}

static LinearSums sumGroups(const ConvolutionRequest &request) {
  uint64_t perGroup = request.inputs / request.groups, taps = request.taps();
  LinearRequest linear;
  linear.weights = request.weights;
  linear.matrices = request.groups;
  linear.n = request.outputs / request.groups;
  linear.k = perGroup * taps;
  linear.transposed = true;
  Expanded expanded;
  linear.inputs = expanded.set(request.values, request.inputs * taps,
                               [&](size_t at) { return at / taps; });
  LinearSums sums = linearSums(linear);
  sums.operatorNorm.clear();
  return sums;
}

/// Lists by output channel and tap.
static LinearSums sumTaps(const ConvolutionRequest &request) {
  uint64_t perGroup = request.inputs / request.groups, taps = request.taps();
  uint64_t outputsPerGroup = request.outputs / request.groups;
  LinearRequest linear;
  linear.weights = request.weights;
  linear.k = perGroup;
  Expanded expanded;
  if (request.transposed) {
    linear.matrices = request.groups;
    linear.n = outputsPerGroup * taps;
    linear.inputs = request.values;
  } else {
    linear.matrices = request.outputs;
    linear.n = taps;
    linear.inputs =
        request.groups == 1
            ? request.values
            : expanded.set(
                  request.values, request.outputs * perGroup, [&](size_t at) {
                    uint64_t output = at / perGroup;
                    return output / outputsPerGroup * perGroup + at % perGroup;
                  });
  }
  std::vector<double> zeros;
  if (request.weights.zeroPoints.size() > 1) {
    for (double zero : request.weights.zeroPoints)
      zeros.insert(zeros.end(), taps, zero);
    linear.weights.zeroPoints = zeros;
  }
  return linearSums(linear);
}

static bool isSubset(const TapSet &small, const TapSet &large) {
  return std::ranges::includes(large, small);
}

/// Sets that no other one holds: what positions inside see.
static std::vector<const TapSet *> largest(ArrayRef<TapSet> sets) {
  std::vector<const TapSet *> result;
  // Larger ones first.
  std::vector<const TapSet *> order;
  for (const TapSet &set : sets)
    order.push_back(&set);
  llvm::sort(order, [](const TapSet *a, const TapSet *b) {
    return a->size() != b->size() ? a->size() > b->size() : *a < *b;
  });
  for (const TapSet *set : order)
    if (llvm::none_of(result, [&](const TapSet *other) {
          return isSubset(*set, *other);
        }))
      result.push_back(set);
  return result;
}

/// The hull over all subsets of the taps: each tap may be inside or not.
static Interval hullOfSubsets(const LinearSums &byTap, size_t first,
                              size_t taps) {
  Interval sum;
  for (size_t tap = first; tap < first + taps; ++tap)
    sum = sum + hull(byTap.bound(tap), 0);
  return sum;
}

static void setBound(LinearSums &sums, size_t channel, Interval bound) {
  if (bound.isBounded()) {
    sums.centre[channel] = bound.midpoint();
    sums.radius[channel] = bound.radius();
    return;
  }
  sums.centre[channel] = 0;
  sums.radius[channel] = kInfinity;
}

/// The likely part and the magnitudes of one channel, over the sets of taps
/// that positions inside see.
static void addInside(const LinearSums &byTap, size_t first,
                      ArrayRef<const TapSet *> sets, size_t channel,
                      LinearSums &sums) {
  double moment = 0;
  for (const TapSet *set : sets) {
    double terms = 0, squares = 0, mean = 0, variance = 0, sixth = 0;
    for (uint32_t tap : *set) {
      size_t at = first + tap;
      terms = addUp(terms, byTap.terms[at]);
      squares = addUp(squares, mulUp(byTap.norm[at], byTap.norm[at]));
      mean += byTap.mean[at];
      variance += byTap.variance[at];
      sixth += std::pow(byTap.tail[at], 6);
    }
    sums.terms[channel] = std::max(sums.terms[channel], terms);
    sums.norm[channel] = std::max(sums.norm[channel], sqrtUp(squares));
    sums.tail[channel] = std::max(sums.tail[channel], std::pow(sixth, 1.0 / 6));
    sums.mean[channel] += mean / sets.size();
    sums.variance[channel] += variance / sets.size();
    moment += mean * mean / sets.size();
  }
  double mean = sums.mean[channel];
  sums.variance[channel] += std::max(0.0, moment - mean * mean);
}

namespace {
/// The taps that some positions see, and the share of the positions.
struct SeenTaps {
  TapSet taps;
  double share;
};
} // namespace

/// The taps that positions of a map see, if many are at a border; nothing
/// for other maps, whose statistics are those of positions inside.
static std::vector<SeenTaps> findBorders(const ConvolutionRequest &request) {
  if (request.transposed)
    return {};
  std::vector<SeenTaps> seen = {{{0}, 1}};
  double inside = 1;
  for (const ConvolutionAxis &axis : request.axes) {
    int64_t size = axis.outputSize(/*transposed=*/false);
    if (size <= 0 || size > kMostBorders || axis.kernel > kMostBorders)
      return {};
    std::map<TapSet, double> shares;
    for (int64_t position = 0; position < size; ++position) {
      TapSet taps;
      for (int64_t tap = 0; tap < axis.kernel; ++tap)
        if (axis.input(position, tap, /*transposed=*/false))
          taps.push_back(uint32_t(tap));
      shares[taps] += 1.0 / double(size);
    }
    std::vector<SeenTaps> product;
    double whole = 0;
    for (const auto &[taps, share] : shares) {
      if (int64_t(taps.size()) == axis.kernel)
        whole += share;
      for (const SeenTaps &before : seen) {
        SeenTaps next{{}, before.share * share};
        for (uint32_t outer : before.taps)
          for (uint32_t tap : taps)
            next.taps.push_back(uint32_t(outer * axis.kernel + tap));
        product.push_back(std::move(next));
      }
    }
    inside *= whole;
    seen = std::move(product);
    if (seen.size() > size_t(kMostBorders))
      return {};
  }
  return inside < kMostInside ? seen : std::vector<SeenTaps>();
}

/// Mean and variance over all positions of a channel, which differ in what they
/// see.
static void estimatePositions(const LinearSums &byTap, size_t taps,
                              ArrayRef<SeenTaps> seen, LinearSums &sums) {
  for (size_t channel = 0; channel < sums.mean.size(); ++channel) {
    double mean = 0, square = 0, variance = 0;
    for (const SeenTaps &position : seen) {
      double own = 0;
      for (uint32_t tap : position.taps) {
        own += byTap.mean[channel * taps + tap];
        variance += position.share * byTap.variance[channel * taps + tap];
      }
      mean += position.share * own;
      square += position.share * own * own;
    }
    sums.mean[channel] = mean;
    sums.variance[channel] = variance + std::max(0.0, square - mean * mean);
  }
}

LinearSums mpopt::convolutionSums(const ConvolutionRequest &request) {
  assert(request.groups > 0 && request.inputs % request.groups == 0 &&
         request.outputs % request.groups == 0 && "groups divide the channels");
  bool hasWhole = !request.transposed && hasInside(request);
  uint64_t taps = request.taps();
  std::vector<SeenTaps> borders = findBorders(request);
  if (hasWhole && (isWhole(request) || !excludesZero(request.values))) {
    LinearSums sums = sumGroups(request);
    if (!borders.empty())
      estimatePositions(sumTaps(request), taps, borders, sums);
    return sums;
  }

  LinearSums byTap = sumTaps(request);
  std::optional<std::vector<TapSet>> sets = tapSets(request);
  if (sets && sets->size() * request.outputs > kMaxCombining / taps)
    sets.reset();
  TapSet all(taps);
  for (uint32_t tap = 0; tap < taps; ++tap)
    all[tap] = tap;
  std::vector<const TapSet *> inside = {&all};
  if (sets && !hasWhole)
    inside = largest(*sets);
  LinearSums sums;
  for (std::vector<double> *list :
       {&sums.centre, &sums.radius, &sums.terms, &sums.norm, &sums.mean,
        &sums.variance, &sums.tail})
    list->assign(request.outputs, 0);
  if (!byTap.flags.empty())
    sums.flags.assign(request.outputs, 0);
  for (uint64_t output = 0; output < request.outputs; ++output) {
    size_t first = output * taps;
    Interval bound =
        sets ? Interval::empty() : hullOfSubsets(byTap, first, taps);
    for (const TapSet &set : sets ? *sets : std::vector<TapSet>()) {
      Interval sum;
      for (uint32_t tap : set)
        sum = sum + byTap.bound(first + tap);
      bound = hull(bound, sum);
    }
    if (bound.isEmpty()) // no position
      bound = Interval::point(0);
    setBound(sums, output, bound);
    if (!inside.empty())
      addInside(byTap, first, inside, output, sums);
    for (size_t tap = 0; !sums.flags.empty() && tap < taps; ++tap)
      sums.flags[output] |= byTap.flags[first + tap];
  }
  if (!borders.empty())
    estimatePositions(byTap, taps, borders, sums);
  return sums;
}
