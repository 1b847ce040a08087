//===- ErrorFunctions.cpp - The error function and its kin
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

using namespace mpopt;
using namespace mpopt::functions;

/// The pole of the inverse of erf at the ends of its domain.
static constexpr Pole kPoles[] = {{-1, false, true}, {1, true, false}};

/// 2 / sqrt(pi) e^(-x^2), the slope of erf.
static double bell(double x) {
  return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
}

/// Newton's method on erfc in the tails and erf between; both converge from the
/// start that the logarithm gives (Winitzki's approximation, 2e-3 relative).
static double erfinv(double x) {
  if (std::fabs(x) >= 1)
    return std::fabs(x) == 1 ? std::copysign(kInfinity, x) : NAN;
  if (std::fabs(x) < 1e-8)
    return x * (std::sqrt(kPi) / 2);
  double target = std::fabs(x), rest = 1 - target;
  double logarithm = std::log1p(-target * target), a = 0.147;
  double middle = 2 / (kPi * a) + logarithm / 2;
  double y = std::sqrt(std::sqrt(middle * middle - logarithm / a) - middle);
  for (int i = 0; i < 6; ++i) {
    double slope = 2 / std::sqrt(kPi) * std::exp(-y * y);
    double off = target < 0.5 ? std::erf(y) - target : rest - std::erfc(y);
    // Halley's correction: erf'' = -2 y erf'.
    double step = off / slope;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

/// From here down log_ndtr takes the expansion of Phi (Abramowitz and Stegun,
/// 7.1.23); the first term that is left out is below 1e-13.
static constexpr double kFarBelow = -30;

/// Phi(x) sqrt(2 pi) |x| e^(x^2 / 2), far below zero.
static double tailFactor(double x) {
  double s = 1 / (x * x);
  return 1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s))));
}

static double logNdtr(double x) {
  if (x < kFarBelow)
    return std::log(tailFactor(x)) - std::log(-x) - std::log(2 * kPi) / 2 -
           x * x / 2;
  return x > 0 ? std::log1p(-std::erfc(x / std::numbers::sqrt2) / 2)
               : std::log(std::erfc(-x / std::numbers::sqrt2) / 2);
}
static double logNdtrSlope(double x) {
  if (x < kFarBelow)
    return -x / tailFactor(x);
  return bell(x / std::numbers::sqrt2) / std::numbers::sqrt2 /
         std::erfc(-x / std::numbers::sqrt2);
}

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    {.name = "Erf",
     .value = [](const Unary &, double x) { return std::erf(x); },
     .derivative = [](const Unary &, double x) { return bell(x); },
     .facts = {.range = {-1, 1},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true,
               .approximated = true},
     .bends = bendsAtZero<kConvex, kConcave>},
    {.name = "Erfc",
     .value = [](const Unary &, double x) { return std::erfc(x); },
     .derivative = [](const Unary &, double x) { return -bell(x); },
     .facts = {.range = {0, 2},
               .margin = kLibm,
               .kernel = units(8),
               .monotone = Monotone::Decreasing},
     .bends = bendsAtZero<kConcave, kConvex>},
    {.name = "Erfinv",
     .value = [](const Unary &, double x) { return erfinv(x); },
     .derivative = [](const Unary &, double x) { return 1 / bell(erfinv(x)); },
     .facts = {.domain = {-kBelowOne, kBelowOne},
               .poles = kPoles,
               .margin = kComposite,
               .kernel = units(16),
               .monotone = Monotone::Increasing,
               .growsFromZero = true}},
    {.name = "LogNdtr",
     .value = [](const Unary &, double x) { return logNdtr(x); },
     .derivative = [](const Unary &, double x) { return logNdtrSlope(x); },
     .facts = {.range = {-kInfinity, 0},
               .margin = kComposite,
               .kernel = units(16, 4),
               .monotone = Monotone::Increasing}},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kErrorFunctions(kRows);
