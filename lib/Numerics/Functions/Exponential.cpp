//===- Exponential.cpp - Exponentials, logarithms, hyperbolic functions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

using namespace mpopt;
using namespace mpopt::functions;

/// The pole of logarithms at 0, of log(1 + x) at -1, of artanh at the ends of
/// its domain.
static constexpr Pole kLogPole[] = {{0, false, true}};
static constexpr Pole kLog1pPole[] = {{-1, false, true}};
static constexpr Pole kAtanhPoles[] = {{-1, false, true}, {1, true, false}};

/// Slopes of 2^x and 10^x at 0.
static constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;

/// 1 / (scale x), the slope of a logarithm.
static double logSlope(double x, double scale) {
  return x < 0 ? NAN : 1 / (std::fabs(x) * scale);
}

/// 1 / cosh(x)^2, without the cancellation of 1 - tanh(x)^2.
static double sechSquared(double x) {
  double sech = 1 / std::cosh(x);
  return sech * sech;
}

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    {.name = "Exp",
     .value = [](const Unary &, double x) { return std::exp(x); },
     .derivative = [](const Unary &, double x) { return std::exp(x); },
     .facts = {.range = {0, kInfinity},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConvex>},
    {.name = "Exp2",
     .value = [](const Unary &, double x) { return std::exp2(x); },
     .derivative = [](const Unary &, double x) { return kLn2 * std::exp2(x); },
     .facts = {.range = {0, kInfinity},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConvex>},
    {.name = "Expm1",
     .value = [](const Unary &, double x) { return std::expm1(x); },
     .derivative = [](const Unary &, double x) { return std::exp(x); },
     .facts = {.range = {-1, kInfinity},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true},
     .bends = bends<kConvex>},
    {.name = "Log",
     .value = [](const Unary &, double x) { return std::log(x); },
     .derivative = [](const Unary &, double x) { return logSlope(x, 1); },
     .facts = {.domain = {kTiny, kInfinity},
               .poles = kLogPole,
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConcave>},
    {.name = "Log2",
     .value = [](const Unary &, double x) { return std::log2(x); },
     .derivative = [](const Unary &, double x) { return logSlope(x, kLn2); },
     .facts = {.domain = {kTiny, kInfinity},
               .poles = kLogPole,
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConcave>},
    {.name = "Log10",
     .value = [](const Unary &, double x) { return std::log10(x); },
     .derivative = [](const Unary &, double x) { return logSlope(x, kLn10); },
     .facts = {.domain = {kTiny, kInfinity},
               .poles = kLogPole,
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConcave>},
    {.name = "Log1p",
     .value = [](const Unary &, double x) { return std::log1p(x); },
     .derivative = [](const Unary &, double x) { return logSlope(1 + x, 1); },
     .facts = {.domain = {-kBelowOne, kInfinity},
               .poles = kLog1pPole,
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true},
     .bends = bends<kConcave>},
    {.name = "Sinh",
     .value = [](const Unary &, double x) { return std::sinh(x); },
     .derivative = [](const Unary &, double x) { return std::cosh(x); },
     .facts = {.margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true},
     .bends = bendsAtZero<kConcave, kConvex>},
    {.name = "Cosh",
     .value = [](const Unary &, double x) { return std::cosh(x); },
     .derivative = [](const Unary &, double x) { return std::sinh(x); },
     .facts = {.range = {1, kInfinity}, .margin = kLibm, .kernel = units(4)},
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(0);
         },
     .bends = bends<kConvex>},
    {.name = "Tanh",
     .value = [](const Unary &, double x) { return std::tanh(x); },
     .derivative = [](const Unary &, double x) { return sechSquared(x); },
     .facts = {.range = {-1, 1},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true,
               .contracts = true,
               .approximated = true},
     .bends = bendsAtZero<kConvex, kConcave>},
    {.name = "Asinh",
     .value = [](const Unary &, double x) { return std::asinh(x); },
     .derivative = [](const Unary &,
                      double x) { return 1 / std::hypot(x, 1.0); },
     .facts = {.margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true},
     .bends = bendsAtZero<kConvex, kConcave>},
    {.name = "Acosh",
     .value = [](const Unary &, double x) { return std::acosh(x); },
     .derivative =
         [](const Unary &, double x) {
           return 1 / (std::sqrt(x - 1) * std::sqrt(x + 1));
         },
     .facts = {.domain = {1, kInfinity},
               .range = {0, kInfinity},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConcave>},
    {.name = "Atanh",
     .value = [](const Unary &, double x) { return std::atanh(x); },
     .derivative =
         [](const Unary &, double x) {
           return std::fabs(x) > 1 ? NAN : 1 / ((1 - x) * (1 + x));
         },
     .facts = {.domain = {-kBelowOne, kBelowOne},
               .poles = kAtanhPoles,
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true},
     .bends = bendsAtZero<kConcave, kConvex>},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kExponential(kRows);

MPOPT_NAMED_FUNCTION(Exp)
MPOPT_NAMED_FUNCTION(Log)
MPOPT_NAMED_FUNCTION(Log1p)
MPOPT_NAMED_FUNCTION(Tanh)
