//===- Algebraic.cpp - Roots, powers, signs and roundings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

using namespace mpopt;
using namespace mpopt::functions;

/// The pole of 1 / x and 1 / sqrt(x) at a zero of either sign.
static constexpr Pole kSignedPole[] = {{0, true, true}};

static void turnAtZero(const Unary &, llvm::SmallVectorImpl<double> &points) {
  points.push_back(0);
}

/// The image under a step function whose steps go up.
static Interval imageOfEnds(const Unary &unary, const Interval &x) {
  return {evaluate(unary, x.lo) + 0.0, evaluate(unary, x.hi) + 0.0};
}

/// A step function.
static constexpr FunctionRow rounding(llvm::StringLiteral name,
                                      double (*value)(const Unary &, double),
                                      bool contracts = false) {
  FunctionRow row = {.name = name, .value = value, .derivative = flat};
  row.facts.monotone = Monotone::Increasing;
  row.facts.integral = true;
  row.facts.contracts = contracts;
  row.exactImage = imageOfEnds;
  return row;
}

static constexpr FunctionRow withValuesOfNaN(FunctionRow row, Interval values) {
  row.facts.ofNaN = values;
  return row;
}

static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    {.name = "Abs",
     .value = [](const Unary &, double x) { return std::fabs(x); },
     .derivative = [](const Unary &, double x) { return sign(x); },
     .facts = {.growsFromZero = true, .keepsIntegers = true, .contracts = true},
     .exactImage = [](const Unary &, const Interval &x) { return abs(x); },
     .breaks = turnAtZero,
     .bends = bendsAtZero<kStraight, kStraight>},
    {.name = "Neg",
     .value = [](const Unary &, double x) { return -x; },
     .derivative = [](const Unary &,
                      double x) { return std::isnan(x) ? x : -1; },
     .facts = {.monotone = Monotone::Decreasing,
               .growsFromZero = true,
               .keepsIntegers = true,
               .contracts = true},
     .exactImage = [](const Unary &, const Interval &x) { return -x; },
     .bends = bends<kStraight>},
    {.name = "Square",
     .value = [](const Unary &, double x) { return x * x; },
     .derivative = [](const Unary &, double x) { return 2 * x; },
     .facts = {.growsFromZero = true, .keepsIntegers = true},
     .exactImage = [](const Unary &, const Interval &x) { return square(x); },
     .breaks = turnAtZero,
     .bends = bends<kConvex>},
    withValuesOfNaN(
        rounding("Sign", [](const Unary &, double x) { return sign(x); }),
        Interval::point(0)),
    rounding("Floor", [](const Unary &, double x) { return std::floor(x); }),
    rounding("Ceil", [](const Unary &, double x) { return std::ceil(x); }),
    rounding("Round",
             [](const Unary &, double x) { return std::nearbyint(x); }),
    rounding(
        "Trunc", [](const Unary &, double x) { return std::trunc(x); },
        /*contracts=*/true),
    {.name = "Sqrt",
     .value = [](const Unary &, double x) { return std::sqrt(x); },
     .derivative = [](const Unary &, double x) { return 0.5 / std::sqrt(x); },
     .facts = {.domain = {0, kInfinity},
               .monotone = Monotone::Increasing,
               .growsFromZero = true,
               .divides = true},
     .exactImage = [](const Unary &, const Interval &x) { return sqrt(x); },
     .bends = bends<kConcave>},
    {.name = "Rsqrt",
     .value = [](const Unary &, double x) { return 1 / std::sqrt(x); },
     .derivative = [](const Unary &,
                      double x) { return -0.5 / std::sqrt(x) / x; },
     .facts = {.domain = {kTiny, kInfinity},
               .poles = kSignedPole,
               .kernel = units(2),
               .monotone = Monotone::Decreasing},
     .exactImage = [](const Unary &,
                      const Interval &x) { return reciprocal(sqrt(x)); },
     .bends = bends<kConvex>},
    {.name = "Reciprocal",
     .value = [](const Unary &, double x) { return 1 / x; },
     .derivative = [](const Unary &, double x) { return -1 / x / x; },
     .facts = {.poles = kSignedPole, .divides = true},
     .exactImage = [](const Unary &,
                      const Interval &x) { return reciprocal(x); },
     .breaks = turnAtZero},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kAlgebraic(kRows);

MPOPT_NAMED_FUNCTION(Abs)
MPOPT_NAMED_FUNCTION(Round)
MPOPT_NAMED_FUNCTION(Rsqrt)
MPOPT_NAMED_FUNCTION(Sqrt)
MPOPT_NAMED_FUNCTION(Square)
