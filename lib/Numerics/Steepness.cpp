//===- Steepness.cpp - How far a function carries an error
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the mean value theorem the steepest tangent in an interval is such a
// bound. Where it lies follows from how |f'| runs.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Steepness.h"

#include "mpopt/Numerics/FunctionTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

namespace {
/// How |f'| runs over the domain.
enum class Run { Rises, Falls, FallsFromZero, RisesFromZero };

struct Row {
  llvm::StringLiteral name;
  Run run;
};
} // namespace

static constexpr Row kRuns[] = {
    {"Square", Run::RisesFromZero},
    {"Sinh", Run::RisesFromZero},
    {"Cosh", Run::RisesFromZero},
    {"TanhShrink", Run::RisesFromZero},
    {"Atanh", Run::RisesFromZero},
    {"Asin", Run::RisesFromZero},
    {"Acos", Run::RisesFromZero},
    {"Erfinv", Run::RisesFromZero},
    {"Sigmoid", Run::FallsFromZero},
    {"Tanh", Run::FallsFromZero},
    {"Erf", Run::FallsFromZero},
    {"Erfc", Run::FallsFromZero},
    {"Softsign", Run::FallsFromZero},
    {"Atan", Run::FallsFromZero},
    {"Asinh", Run::FallsFromZero},
    {"Reciprocal", Run::FallsFromZero},
    {"Exp", Run::Rises},
    {"Exp2", Run::Rises},
    {"Expm1", Run::Rises},
    {"Log", Run::Falls},
    {"Log2", Run::Falls},
    {"Log10", Run::Falls},
    {"Log1p", Run::Falls},
    {"Sqrt", Run::Falls},
    {"Rsqrt", Run::Falls},
    {"LogSigmoid", Run::Falls},
    {"Acosh", Run::Falls},
    {"LogNdtr", Run::Falls},
};

namespace {
struct Limit {
  llvm::StringLiteral name;
  Steepness (*steepness)(const Unary &);
};
} // namespace

static constexpr Steepness one(const Unary &) { return {1, 0}; }

/// Functions with one slope for all intervals. The largest slopes of gated
/// functions (x times a sigmoid or so) are theirs rounded up.
static constexpr Limit kLimits[] = {
    {"Neg", one},
    {"Abs", one},
    {"Relu", one},
    {"Relu6", one},
    {"HardTanh", one},
    {"Sin", one},
    {"Cos", one},
    {"LeakyRelu",
     [](const Unary &unary) -> Steepness {
       return {std::max(1.0, std::fabs(unary.alpha)), 0};
     }},
    {"Elu",
     [](const Unary &unary) -> Steepness {
       return {std::max(1.0, std::fabs(unary.alpha)), 0};
     }},
    {"Celu",
     [](const Unary &unary) -> Steepness {
       return {unary.alpha > 0 ? 1 : kInfinity, 0};
     }},
    {"Selu",
     [](const Unary &unary) -> Steepness {
       return {std::fabs(unary.beta) * std::max(1.0, std::fabs(unary.alpha)),
               0};
     }},
    {"HardSigmoid",
     [](const Unary &unary) -> Steepness {
       return {std::fabs(unary.alpha), 0};
     }},
    {"HardSwish", [](const Unary &) -> Steepness { return {1.5, 0}; }},
    {"Silu", [](const Unary &) -> Steepness { return {1.1, 0}; }},
    {"QuickGelu", [](const Unary &) -> Steepness { return {1.1, 0}; }},
    {"Gelu", [](const Unary &) -> Steepness { return {1.13, 0}; }},
    {"GeluTanh", [](const Unary &) -> Steepness { return {1.13, 0}; }},
    {"Mish", [](const Unary &) -> Steepness { return {1.09, 0}; }},
    // Above the threshold it is x itself: a step of log(1 + e^-threshold).
    {"Softplus",
     [](const Unary &unary) -> Steepness {
       if (!(unary.alpha > 0))
         return {};
       return {1, std::isfinite(unary.threshold)
                      ? std::log1p(std::exp(-unary.threshold)) / unary.alpha
                      : 0};
     }},
};

/// Covers what `derivative` is off by.
static constexpr double kMargin = 1e-9;

Steepness mpopt::getSteepness(const Unary &unary, const Interval &x) {
  if (!x.isBounded() || x.isEmpty())
    return {};
  FunctionFacts facts = getFacts(unary);
  if (!facts.domain.contains(x) ||
      llvm::any_of(facts.poles,
                   [&](const Pole &pole) { return x.contains(pole.at); }))
    return {};
  llvm::StringRef name = unary.function.row().name;
  for (const Limit &limit : kLimits)
    if (limit.name == name) {
      Steepness found = limit.steepness(unary);
      found.slope *= 1 + kMargin;
      found.jump *= 1 + kMargin;
      return found;
    }
  for (const Row &row : kRuns) {
    if (row.name != name)
      continue;
    double at = 0;
    switch (row.run) {
    case Run::Rises:
      at = x.hi;
      break;
    case Run::Falls:
      at = x.lo;
      break;
    case Run::FallsFromZero:
      at = x.minAbs();
      break;
    case Run::RisesFromZero:
      at = x.maxAbs();
      break;
    }
    double slope = std::fabs(derivative(unary, at));
    return {std::isnan(slope) ? kInfinity : slope * (1 + kMargin), 0};
  }
  return {};
}
