//===- Spread.h - How a tensor's elements vary together ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mean and variance of single elements, which AbstractValue has, do not give
// the size of a sum over positions: terms of one sample are alike. A spread is
// what sums need beside them. With m the mean, v the variance and a = `alike`,
// two elements of one group have the expected product
//
//   m^2 + v     an element with itself                        (square)
//   m^2 + a v   different positions of one sample             (common)
//   m^2 + s v   different samples                             (steady)
//   m^2         different channels                            (mean squared)
//
// with s = `steady`, which is 0 unless something that no group's mean tells,
// because its sign differs from channel to channel, is the same for all
// samples. Independent factors multiply each of these; independent summands add
// what is above m^2. docs/gradients.md derives what ops do to them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_SPREAD_SPREAD_H
#define MPOPT_RANGES_SPREAD_SPREAD_H

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace mpopt {

/// The roles of a tensor's axes. Axes that are neither hold channels.
struct AxisRoles {
  /// The axis along which samples lie, perhaps with positions inside it; -1 if
  /// the tensor is the same for all samples.
  int batch = -1;
  /// A bit for each axis along which positions of one sample lie.
  uint32_t positions = 0;

  bool isPosition(int64_t axis) const { return positions >> axis & 1; }
};

struct Spread {
  AxisRoles axes;
  /// The correlation of two positions of one sample, in [0, 1].
  double alike = 0;
  /// The part of the variance that all samples and positions have in common.
  double steady = 0;
  /// The common part of a sample's positions adds up to 0 over the samples of
  /// a batch: a gradient behind a norm of the batch.
  bool balanced = false;
  /// A gradient has these: the part of its variance that is linear in the
  /// forward value it belongs to, which predictions are made of; over how many
  /// positions of that value it is spread, and how many numbers are predicted
  /// at each.
  double response = 0, reach = 1, outputs = 1;
  /// The same of two elements that differ in their place along the last axis
  /// only; negative where nothing else is known than `alike`.
  double alikeInRow = -1;
  /// The share of elements that are exactly 0, wherever they lie.
  double zero = 0;
  /// The share of positions all of whose channels are 0.
  double zeroRows = 0;
  /// How many random factors an element is the product of: the logarithms of so
  /// many normal numbers add up. Below 1: numbers of one sign, whose logarithm
  /// varies less; 0: one magnitude.
  double factors = 1;
  /// The extremes of groups are bounds, not what normal numbers reach.
  bool bounded = false;
  /// The axis along which elements add up to 0; -1 if there is none.
  int zeroSum = -1;
  /// The axis along which they add up to 1: rows of probabilities.
  int unitSum = -1;

  /// Takes over what a gradient that is passed on unchanged, or through known
  /// weights, has to do with the prediction and the batch.
  void answerAs(const Spread &other) {
    response = other.response;
    reach = other.reach;
    outputs = other.outputs;
    balanced = other.balanced;
  }
};

/// The expected products of an element of one group; `steady` is that of two
/// samples less the mean squared.
struct Moments {
  double mean = 0, common = 0, square = 0, steady = 0;

  static Moments of(const Cell &cell, double alike, double steady = 0) {
    double square = cell.mean * cell.mean;
    return {cell.mean, square + std::max(alike, steady) * cell.variance,
            square + cell.variance, steady * cell.variance};
  }
  static Moments of(const Cell &cell, const Spread &spread) {
    return of(cell, spread.alike, spread.steady);
  }
  static Moments number(double value) {
    return {value, value * value, value * value};
  }
  double variance() const { return std::max(0.0, square - mean * mean); }
  /// The correlation that they amount to; 0 where nothing varies.
  double alike() const {
    double all = variance();
    return all > 0 ? std::clamp((common - mean * mean) / all, 0.0, 1.0) : 0;
  }
  /// The part of the variance that all samples have in common.
  double steadyPart() const {
    double all = variance();
    return all > 0 ? std::clamp(steady / all, 0.0, 1.0) : 0;
  }
  Moments scaled(double factor) const {
    double squared = factor * factor;
    return {mean * factor, common * squared, square * squared,
            steady * squared};
  }
};

/// The product of independent factors.
inline Moments operator*(const Moments &lhs, const Moments &rhs) {
  return {lhs.mean * rhs.mean, lhs.common * rhs.common, lhs.square * rhs.square,
          lhs.steady * rhs.mean * rhs.mean + lhs.mean * lhs.mean * rhs.steady +
              lhs.steady * rhs.steady};
}

/// The sum of independent summands.
inline Moments operator+(const Moments &lhs, const Moments &rhs) {
  double cross = 2 * lhs.mean * rhs.mean;
  return {lhs.mean + rhs.mean, lhs.common + rhs.common + cross,
          lhs.square + rhs.square + cross, lhs.steady + rhs.steady};
}

/// Moments of a function of a normal number of that mean and variance; two are
/// independent (`common` is the mean squared).
Moments momentsOf(double mean, double variance,
                  llvm::function_ref<double(double)> function);

/// A number of terms: `channels` times `samples` times `positions`.
struct TermCount {
  double channels = 1, samples = 1, positions = 1;

  double all() const { return channels * samples * positions; }

  /// The number of terms of a sum along those axes of a tensor, in a batch of
  /// so many samples. Unknown dims count as 1.
  static TermCount along(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> axes, const AxisRoles &roles,
                         double samples);
};

/// True if the correlation of so many positions changes the variance of their
/// sum, 1 + (positions - 1) alike times that of independent ones, by a tenth or
/// more. Estimates of single values are seldom nearer than that
/// (docs/accuracy.md); below it the range analysis, which follows extremes of
/// heavy tails, has the sum.
inline bool changesSum(double alike, double positions) {
  constexpr double kTenth = 0.1;
  return alike * (positions - 1) >= kTenth;
}

/// The sum of so many elements. `common` of the result is the expected product
/// of two such sums over other positions of the same samples.
Moments sumOf(const Moments &term, const TermCount &count);

} // namespace mpopt

#endif // MPOPT_RANGES_SPREAD_SPREAD_H
