//===- Functions.h - What the parts of the table share ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc's functions are within 5.2 ulp of a double (erfc; most within 1:
// Zimmermann et al., "Accuracy of Mathematical Functions in Single, Double,
// Double Extended, and Quadruple Precision", and the table in its manual). For
// double those figures are the worst found, not proven; the margin of 2^-48, 16
// ulp, leaves room and is nothing beside the formats analysed. Formulas of
// several calls are written in forms that keep the relative error small where
// the textbook formula cancels, and have a margin of 2^-40.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_NUMERICS_FUNCTIONS_FUNCTIONS_H
#define MPOPT_LIB_NUMERICS_FUNCTIONS_FUNCTIONS_H

#include "mpopt/Numerics/FunctionTable.h"

#include <cmath>
#include <numbers>
#include <string_view>

namespace mpopt::functions {

// The parts of the table.
extern const llvm::ArrayRef<FunctionRow> kAlgebraic, kExponential,
    kTrigonometric, kErrorFunctions, kPiecewise, kActivations;

/// Neighbours of 0 and of 1 below it in a double (53 digits).
inline constexpr double kTiny = std::numeric_limits<double>::denorm_min();
inline constexpr double kBelowOne = 1 - 0x1p-53;
/// Relative errors of a value that libm computes in double, and of one that
/// several of its functions make: 2^5 and 2^13 roundings.
inline constexpr double kLibm = 0x1p-48, kComposite = 0x1p-40;
inline constexpr double kPi = std::numbers::pi;

/// `ulps`, then units of 1, then units of the input up to the cap.
constexpr KernelError units(double ulps, double unitUlps = 0,
                            double inputUlps = 0, double inputCap = 0) {
  KernelError error;
  error.ulps = ulps;
  error.unitUlps = unitUlps;
  error.inputUlps = inputUlps;
  error.inputCap = inputCap;
  return error;
}
/// The error of a kernel that may miss the sign near a zero.
constexpr KernelError signless(KernelError error) {
  error.keepsSign = false;
  return error;
}

using Bends = llvm::SmallVectorImpl<Bend>;
/// One way everywhere.
template <Curvature curvature> void bends(const Unary &, Bends &pieces) {
  pieces.push_back({-kInfinity, curvature});
}
/// One way below 0, another above.
template <Curvature below, Curvature above>
void bendsAtZero(const Unary &, Bends &pieces) {
  pieces.append({{-kInfinity, below}, {0, above}});
}
// Ways to bend, as rows name them.
inline constexpr auto kConvex = Curvature::Convex,
                      kConcave = Curvature::Concave,
                      kStraight = Curvature::Linear;

/// Slopes of a step function.
inline double flat(const Unary &, double x) { return std::isnan(x) ? x : 0; }

/// x times a factor that tends to 0 faster than 1/x.
inline double gate(double x, double factor) {
  return factor == 0 ? 0 : x * factor;
}

inline double sigmoid(double x) {
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}

/// The row of that name; no constant if there is none.
template <size_t count>
consteval const FunctionRow &find(const FunctionRow (&rows)[count],
                                  std::string_view name) {
  size_t at = 0;
  while (std::string_view(rows[at].name) != name)
    ++at;
  return rows[at];
}

} // namespace mpopt::functions

/// The row of a part of the table, as formulas name it.
#define MPOPT_NAMED_FUNCTION(Name)                                             \
  constinit const UnaryFunction UnaryFunction::Name(find(kRows, #Name));

#endif // MPOPT_LIB_NUMERICS_FUNCTIONS_FUNCTIONS_H
