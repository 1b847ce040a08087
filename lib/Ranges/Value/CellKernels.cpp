//===- CellKernels.cpp - Vector code on the arrays of cells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CellKernels.h"

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/InstructionSets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace mpopt;
using namespace mpopt::cells;

NumberRounding::NumberRounding(const FloatFormat &format)
    : overflowFrom(format.overflowFrom), flushAt(format.flushAt),
      minNormal(format.minNormal),
      shift(format.minNormal * format.epsilon() * 0x1.8p52),
      dropped(std::numeric_limits<double>::digits - format.digits),
      evenBits(format.digits > 1) {}

//===----------------------------------------------------------------------===//
// The loops
//===----------------------------------------------------------------------===//

namespace {
MPOPT_INLINE double select(bool condition, double yes, double no) {
  return condition ? yes : no;
}

/// `FloatFormat::round`, but numbers that overflow stay.
MPOPT_INLINE double roundNumber(const NumberRounding &to, double least,
                                double number) {
  double magnitude = std::fabs(number);
  double small = (magnitude + to.shift) - to.shift;
  auto bits = std::bit_cast<uint64_t>(magnitude);
  uint64_t half = (uint64_t(1) << to.dropped) >> 1;
  uint64_t odd = to.evenBits ? bits >> to.dropped & 1 : 1;
  uint64_t rounded = (bits + (half - 1) + odd) >> to.dropped << to.dropped;
  double normal = std::bit_cast<double>(rounded);
  double result = select(magnitude < to.minNormal, small, normal);
  result = select(magnitude <= to.flushAt, 0, result);
  result = std::copysign(result, number);
  bool stays =
      !(magnitude < to.overflowFrom) || magnitude < least || !(magnitude > 0);
  return select(stays, number, result);
}

MPOPT_INLINE void roundAll(const NumberRounding &rounding, double least,
                           double *numbers, size_t count) {
  const NumberRounding to = rounding;
  for (size_t i = 0; i < count; ++i)
    numbers[i] = roundNumber(to, least, numbers[i]);
}

MPOPT_INLINE bool areRounded(const NumberRounding &rounding, double least,
                             const double *numbers, size_t count) {
  const NumberRounding to = rounding;
  uint64_t changes = 0;
  for (size_t i = 0; i < count; ++i)
    changes |= std::bit_cast<uint64_t>(numbers[i]) ^
               std::bit_cast<uint64_t>(roundNumber(to, least, numbers[i]));
  return changes == 0;
}

MPOPT_INLINE bool areAllFloats(const double *numbers, size_t count) {
  int64_t others = 0;
  for (size_t i = 0; i < count; ++i)
    others += int64_t(double(float(numbers[i])) != numbers[i]);
  return others == 0;
}

/// Towards infinity if `up`, else towards minus infinity.
MPOPT_INLINE double towards(double number, bool up) {
  constexpr uint64_t kRest = (uint64_t(1) << 29) - 1;
  auto bits = std::bit_cast<uint64_t>(number);
  bool away = (number > 0) == up;
  uint64_t moved = (away ? bits + kRest : bits) & ~kRest;
  double magnitude = std::fabs(number);
  bool fits = magnitude >= std::numeric_limits<float>::min() &&
              magnitude <= std::numeric_limits<float>::max();
  return select(fits, std::bit_cast<double>(moved), number);
}

MPOPT_INLINE void widenAll(double *__restrict lo, double *__restrict hi,
                           size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bool empty = !(lo[i] <= hi[i]);
    lo[i] = select(empty, lo[i], towards(lo[i], false));
    hi[i] = select(empty, hi[i], towards(hi[i], true));
  }
}

MPOPT_INLINE CellFit fitAll(const CellLimits &limits,
                            const MutableCells &cells) {
  size_t count = cells.size();
  double *__restrict lo = cells[Field::Lo].data();
  double *__restrict hi = cells[Field::Hi].data();
  double *__restrict mean = cells[Field::Mean].data();
  double *__restrict variance = cells[Field::Variance].data();
  double *__restrict likelyLo = cells[Field::LikelyLo].data();
  double *__restrict likelyHi = cells[Field::LikelyHi].data();
  // Magnitudes are in the order of their bits.
  int64_t smallest = std::bit_cast<int64_t>(std::numeric_limits<double>::max());
  for (size_t i = 0; i < count; ++i) {
    // Arithmetic on infinite bounds that says nothing is not no value.
    bool unknown = std::isnan(lo[i]) || std::isnan(hi[i]);
    double low = select(unknown, -kInfinity, lo[i]);
    double high = select(unknown, kInfinity, hi[i]);
    bool empty = !(low <= high);
    low = low < limits.lo ? limits.lo : low;
    high = limits.hi < high ? limits.hi : high;
    low = select(empty, kInfinity, low);
    high = select(empty, -kInfinity, high);
    lo[i] = low;
    hi[i] = high;
    double least = select(low > 0, low, select(high < 0, -high, 0));
    bool none = empty || (low == 0 && high == 0);
    least = select(none, std::numeric_limits<double>::max(), least);
    smallest = std::min(smallest, std::bit_cast<int64_t>(least));
  }
  CellFit result{std::bit_cast<double>(smallest), false};
  if (!limits.likely)
    return result;
  int64_t lost = 0;
  for (size_t i = 0; i < count; ++i) {
    bool empty = !(lo[i] <= hi[i]);
    bool nan = !empty && (std::isnan(mean[i]) || std::isnan(variance[i]) ||
                          std::isnan(likelyLo[i]) || std::isnan(likelyHi[i]));
    lost += int64_t(nan);
    double below = std::fabs(lo[i]), above = std::fabs(hi[i]);
    bool flushed = below <= limits.flushAt && above <= limits.flushAt;
    double least = select(flushed, -limits.flushAt, lo[i]);
    double most = select(flushed, limits.flushAt, hi[i]);
    double centre = clampTo(mean[i], least, most < least ? least : most);
    double low = clampTo(likelyLo[i], least, centre);
    double high = clampTo(likelyHi[i], centre, most < centre ? centre : most);
    // Popoviciu: what lies in an interval varies no more than its ends do.
    double half = (most - least) / 2;
    double spread = clampTo(variance[i], 0, half * half);
    bool stays = empty || nan;
    mean[i] = select(stays, mean[i], centre);
    likelyLo[i] = select(stays, likelyLo[i], low);
    likelyHi[i] = select(stays, likelyHi[i], high);
    variance[i] = select(stays, variance[i], spread);
  }
  result.losesLikely = lost != 0;
  return result;
}

/// `addDown`: the error of a sum is another double (Knuth's TwoSum), so that
/// only inexact sums move.
MPOPT_INLINE double sumDown(double a, double b) {
  double sum = (a + b) + 0.0, part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  // The next double below, of a sum that is not -Inf or NaN.
  auto bits = std::bit_cast<int64_t>(sum);
  double below = std::bit_cast<double>(sum > 0 ? bits - 1 : bits + 1);
  below = select(sum == 0, -std::numeric_limits<double>::denorm_min(), below);
  bool overflows = sum == kInfinity && a < kInfinity && b < kInfinity;
  double result = select(error < 0 || overflows, below, sum);
  result = select(sum == -kInfinity, sum, result);
  return select(std::isnan(sum), -kInfinity, result);
}
MPOPT_INLINE double sumUp(double a, double b) { return 0.0 - sumDown(-a, -b); }

MPOPT_INLINE CellSum addAll(const MutableCells &a, const MutableCells &b,
                            double minNonZero) {
  size_t count = a.size();
  double *__restrict lo = a[Field::Lo].data();
  double *__restrict hi = a[Field::Hi].data();
  const double *__restrict otherLo = b[Field::Lo].data();
  const double *__restrict otherHi = b[Field::Hi].data();
  int64_t smallest = std::bit_cast<int64_t>(std::numeric_limits<double>::max());
  for (size_t i = 0; i < count; ++i) {
    bool empty = !(lo[i] <= hi[i]) || !(otherLo[i] <= otherHi[i]);
    // Terms of one sign do not cancel.
    bool oneSign =
        (lo[i] >= 0 && otherLo[i] >= 0) || (hi[i] <= 0 && otherHi[i] <= 0);
    double least = select(oneSign, minNonZero, 0);
    double low = sumDown(lo[i], otherLo[i]), high = sumUp(hi[i], otherHi[i]);
    // `FloatRange::tighten`.
    double inner = select(low > -least, 0, low);
    low = select(low > 0, low < least ? least : low, inner);
    inner = select(high < least, 0, high);
    high = select(high < 0, -least < high ? -least : high, inner);
    empty = empty || !(low <= high);
    lo[i] = select(empty, kInfinity, low);
    hi[i] = select(empty, -kInfinity, high);
    double outside = select(low > 0, low, select(high < 0, -high, 0));
    least = least < outside ? outside : least;
    bool none = empty || (low == 0 && high == 0);
    least = select(none, std::numeric_limits<double>::max(), least);
    smallest = std::min(smallest, std::bit_cast<int64_t>(least));
  }
  double *__restrict mean = a[Field::Mean].data();
  double *__restrict variance = a[Field::Variance].data();
  double *__restrict likelyLo = a[Field::LikelyLo].data();
  double *__restrict likelyHi = a[Field::LikelyHi].data();
  const double *__restrict otherMean = b[Field::Mean].data();
  const double *__restrict otherVariance = b[Field::Variance].data();
  const double *__restrict otherLikelyLo = b[Field::LikelyLo].data();
  const double *__restrict otherLikelyHi = b[Field::LikelyHi].data();
  int64_t extreme = 0;
  for (size_t i = 0; i < count; ++i) {
    double down = mean[i] - likelyLo[i],
           otherDown = otherMean[i] - otherLikelyLo[i];
    double up = likelyHi[i] - mean[i],
           otherUp = otherLikelyHi[i] - otherMean[i];
    double below = down * down + otherDown * otherDown;
    double above = up * up + otherUp * otherUp;
    bool normal = (below == 0 || (below > 1e-290 && below < 1e300)) &&
                  (above == 0 || (above > 1e-290 && above < 1e300));
    extreme += int64_t(!normal);
    mean[i] += otherMean[i];
    variance[i] += otherVariance[i];
    likelyLo[i] = mean[i] - std::sqrt(below);
    likelyHi[i] = mean[i] + std::sqrt(above);
  }
  return {std::bit_cast<double>(smallest), extreme != 0};
}

MPOPT_INLINE double largestMagnitude(const double *lo, const double *hi,
                                     size_t count) {
  int64_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    double below = std::fabs(lo[i]), above = std::fabs(hi[i]);
    double most = below < above ? above : below;
    most = select(lo[i] <= hi[i], most, 0);
    largest = std::max(largest, std::bit_cast<int64_t>(most));
  }
  return std::bit_cast<double>(largest);
}
} // namespace

//===----------------------------------------------------------------------===//
// Instruction sets
//===----------------------------------------------------------------------===//

// NOLINTBEGIN(bugprone-macro-parentheses): TARGET is an attribute.
#define LOOPS_FOR(NAME, BYTES, TARGET)                                         \
  namespace {                                                                  \
  namespace NAME {                                                             \
  TARGET void round(const NumberRounding &rounding, double least,              \
                    double *numbers, size_t count) {                           \
    roundAll(rounding, least, numbers, count);                                 \
  }                                                                            \
  TARGET bool isRounded(const NumberRounding &rounding, double least,          \
                        const double *numbers, size_t count) {                 \
    return areRounded(rounding, least, numbers, count);                        \
  }                                                                            \
  TARGET bool areFloats(const double *numbers, size_t count) {                 \
    return areAllFloats(numbers, count);                                       \
  }                                                                            \
  TARGET void widen(double *lo, double *hi, size_t count) {                    \
    widenAll(lo, hi, count);                                                   \
  }                                                                            \
  TARGET CellFit fit(const CellLimits &limits, const MutableCells &cells) {    \
    return fitAll(limits, cells);                                              \
  }                                                                            \
  TARGET CellSum add(const MutableCells &a, const MutableCells &b,             \
                     double minNonZero) {                                      \
    return addAll(a, b, minNonZero);                                           \
  }                                                                            \
  TARGET double magnitude(const double *lo, const double *hi, size_t count) {  \
    return largestMagnitude(lo, hi, count);                                    \
  }                                                                            \
  CellLoops all() {                                                            \
    return {round, isRounded, areFloats, widen, fit, add, magnitude};          \
  }                                                                            \
  }                                                                            \
  }
// NOLINTEND(bugprone-macro-parentheses)

MPOPT_FOR_INSTRUCTION_SETS(LOOPS_FOR)

const std::vector<CellLoops> &cells::allLoops() {
  static const std::vector<CellLoops> found = MPOPT_RUNNABLE_LOOPS(CellLoops);
  return found;
}

const CellLoops &cells::loops() {
  static const CellLoops &best = allLoops().back();
  return best;
}
