//===- Trigonometric.cpp - Trigonometric functions and their inverses
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

using namespace mpopt;
using namespace mpopt::functions;

/// True if some phase + k period may lie in `x`. Beyond 1e8 the period is not
/// resolved, and it always may.
static bool holdsPhase(const Interval &x, double phase, double period) {
  if (!(x.maxAbs() < 1e8) || x.width() >= period)
    return true;
  double slack = 1e-7;
  double next = std::ceil((x.lo - slack - phase) / period);
  return phase + next * period <= x.hi + slack;
}

/// A wave has its peaks at phase + 2 k pi and -1 between them.
static void addWave(const Unary &unary, const Interval &x,
                    llvm::SmallVectorImpl<double> &values) {
  double phase = unary.function.row().facts.phase;
  if (holdsPhase(x, phase, 2 * kPi))
    values.push_back(1);
  if (holdsPhase(x, phase + kPi, 2 * kPi))
    values.push_back(-1);
}

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    // Vectorised kernels are off by units of 1 near the zeros.
    {.name = "Sin",
     .value = [](const Unary &, double x) { return std::sin(x); },
     .derivative = [](const Unary &, double x) { return std::cos(x); },
     .facts = {.range = {-1, 1},
               .margin = kLibm,
               .kernel = signless(units(4, 2)),
               .phase = kPi / 2,
               .spacing = kPi,
               .contracts = true},
     .interior = addWave},
    {.name = "Cos",
     .value = [](const Unary &, double x) { return std::cos(x); },
     .derivative = [](const Unary &, double x) { return -std::sin(x); },
     .facts = {.range = {-1, 1},
               .margin = kLibm,
               .kernel = signless(units(4, 2)),
               .phase = 0,
               .spacing = kPi},
     .interior = addWave},
    // No double is a pole.
    {.name = "Tan",
     .value = [](const Unary &, double x) { return std::tan(x); },
     .derivative =
         [](const Unary &, double x) {
           double tan = std::tan(x);
           return 1 + tan * tan;
         },
     .facts = {.margin = kLibm,
               .kernel = signless(units(8, 2)),
               .phase = kPi / 2,
               .spacing = kPi},
     .interior =
         [](const Unary &unary, const Interval &x,
            llvm::SmallVectorImpl<double> &values) {
           if (holdsPhase(x, unary.function.row().facts.phase, kPi))
             values.append({-kInfinity, kInfinity});
         }},
    {.name = "Asin",
     .value = [](const Unary &, double x) { return std::asin(x); },
     .derivative = [](const Unary &,
                      double x) { return 1 / std::sqrt((1 - x) * (1 + x)); },
     .facts = {.domain = {-1, 1},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true}},
    {.name = "Acos",
     .value = [](const Unary &, double x) { return std::acos(x); },
     .derivative = [](const Unary &,
                      double x) { return -1 / std::sqrt((1 - x) * (1 + x)); },
     .facts = {.domain = {-1, 1},
               .range = {0, kInfinity},
               .margin = kLibm,
               .kernel = units(4, 2),
               .monotone = Monotone::Decreasing}},
    {.name = "Atan",
     .value = [](const Unary &, double x) { return std::atan(x); },
     .derivative = [](const Unary &, double x) { return 1 / (1 + x * x); },
     .facts = {.margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true,
               .contracts = true},
     .bends = bendsAtZero<kConvex, kConcave>},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kTrigonometric(kRows);
