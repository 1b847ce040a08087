//===- Piecewise.cpp - Piecewise linear and quadratic activations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

#include "mpopt/Numerics/Rounding.h"

using namespace mpopt;
using namespace mpopt::functions;

static Interval clampTo(const Interval &x, double low, double high) {
  return min(max(x, Interval::point(low)), Interval::point(high));
}

static Interval hardSwishAt(double x) {
  Interval point = Interval::point(x);
  return point * clampTo(point / Interval::point(6) + 0.5, 0, 1);
}

/// 1 where `inside` holds.
static double step(double x, bool inside) {
  return std::isnan(x) ? x : inside ? 1 : 0;
}

static Interval shrinkImage(const Unary &unary, const Interval &x) {
  double alpha = unary.alpha, bias = unary.beta;
  Interval rest = intersect(x, {-alpha, kInfinity});
  Interval moved = hull(intersect(x, {-kInfinity, nextDown(-alpha)}) + bias,
                        intersect(rest, {nextUp(alpha), kInfinity}) + -bias);
  bool inside = !intersect(rest, {-kInfinity, alpha}).isEmpty();
  return inside ? hull(moved, 0.0) : moved;
}

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    {.name = "Relu",
     .value = [](const Unary &, double x) { return x < 0 ? 0 : x; },
     .derivative = [](const Unary &, double x) { return step(x, x > 0); },
     .facts = {.monotone = Monotone::Increasing,
               .growsFromZero = true,
               .keepsIntegers = true,
               .contracts = true,
               .ofNaN = Interval::point(0)},
     .exactImage = [](const Unary &,
                      const Interval &x) { return max(x, Interval::point(0)); },
     .bends = bendsAtZero<kStraight, kStraight>},
    {.name = "Relu6",
     .value = [](const Unary &, double x) { return x < 0   ? 0
                                                   : x > 6 ? 6
                                                           : x; },
     .derivative = [](const Unary &,
                      double x) { return step(x, x > 0 && x < 6); },
     .facts = {.monotone = Monotone::Increasing,
               .growsFromZero = true,
               .keepsIntegers = true,
               .contracts = true,
               .ofNaN = {0, 6}},
     .exactImage = [](const Unary &,
                      const Interval &x) { return clampTo(x, 0, 6); },
     .bends =
         [](const Unary &, Bends &pieces) {
           pieces.push_back({-kInfinity, kStraight});
           for (double at : {0.0, 6.0})
             pieces.push_back({at, kStraight});
         }},
    {.name = "LeakyRelu",
     .value = [](const Unary &unary,
                 double x) { return x < 0 ? unary.alpha * x : x; },
     .derivative =
         [](const Unary &unary, double x) {
           return std::isnan(x) ? x : x > 0 ? 1 : unary.alpha;
         },
     .facts = {.growsFromZero = true},
     .numbers = {.alpha = "alpha"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.contracts = std::fabs(unary.alpha) <= 1;
         },
     .exactImage =
         [](const Unary &unary, const Interval &x) {
           return hull(intersect(x, {0, kInfinity}),
                       intersect(x, {-kInfinity, 0}) * unary.alpha);
         },
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(0);
         },
     .bends = bendsAtZero<kStraight, kStraight>},
    {.name = "ThresholdedRelu",
     .value =
         [](const Unary &unary, double x) {
           return x > unary.alpha ? x : std::isnan(x) ? x : 0;
         },
     .derivative = [](const Unary &unary,
                      double x) { return step(x, x > unary.alpha); },
     .facts = {.keepsIntegers = true, .ofNaN = Interval::point(0)},
     .numbers = {.alpha = "alpha"},
     .exactImage =
         [](const Unary &unary, const Interval &x) {
           Interval kept = intersect(x, {nextUp(unary.alpha), kInfinity});
           return x.lo <= unary.alpha ? hull(kept, 0.0) : kept;
         },
     .breaks =
         [](const Unary &unary, llvm::SmallVectorImpl<double> &points) {
           points.push_back(unary.alpha);
         }},
    {.name = "HardSigmoid",
     .value =
         [](const Unary &unary, double x) {
           return std::isnan(x)
                      ? x
                      : std::clamp(unary.alpha * x + unary.beta, 0.0, 1.0);
         },
     .derivative =
         [](const Unary &unary, double x) {
           double line = unary.alpha * x + unary.beta;
           return unary.alpha * step(x, line > 0 && line < 1);
         },
     .facts = {.range = {0, 1}, .ofNaN = {0, 1}},
     .numbers = {.alpha = "alpha", .beta = "beta"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.monotone =
               unary.alpha < 0 ? Monotone::Decreasing : Monotone::Increasing;
           // alpha x + beta, both steps rounded, before the clamp.
           double alpha = std::fabs(unary.alpha), beta = std::fabs(unary.beta);
           facts.kernel = units(2, 1 + beta, alpha, (1 + beta) / alpha);
         },
     .exactImage =
         [](const Unary &unary, const Interval &x) {
           return clampTo(x * unary.alpha + unary.beta, 0, 1);
         }},
    {.name = "HardSwish",
     .value =
         [](const Unary &, double x) {
           return std::isnan(x) ? x
                                : gate(x, std::clamp(x / 6 + 0.5, 0.0, 1.0));
         },
     .derivative =
         [](const Unary &, double x) {
           return std::isnan(x) ? x : x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
         },
     .facts = {.kernel = units(6, 0, 2, 4),
               .contracts = true,
               .nanAtNegInf = true},
     .exactImage =
         [](const Unary &, const Interval &x) {
           Interval ends = hull(hardSwishAt(x.lo), hardSwishAt(x.hi));
           return x.contains(-1.5) ? hull(ends, -0.375) : ends;
         },
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(-1.5);
         }},
    {.name = "HardTanh",
     .value =
         [](const Unary &unary, double x) {
           return x < unary.alpha  ? unary.alpha
                  : x > unary.beta ? unary.beta
                                   : x;
         },
     .derivative =
         [](const Unary &unary, double x) {
           return step(x, x > unary.alpha && x < unary.beta);
         },
     .facts = {.monotone = Monotone::Increasing},
     .numbers = {.alpha = "low", .beta = "high"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.keepsIntegers = std::floor(unary.alpha) == unary.alpha &&
                                 std::floor(unary.beta) == unary.beta;
           facts.growsFromZero = unary.alpha < 0 && unary.beta > 0;
           facts.ofNaN = {unary.alpha, unary.beta};
         },
     .exactImage =
         [](const Unary &unary, const Interval &x) {
           return clampTo(x, unary.alpha, unary.beta);
         },
     .bends =
         [](const Unary &unary, Bends &pieces) {
           pieces.append({{-kInfinity, kStraight},
                          {std::min(unary.alpha, unary.beta), kStraight},
                          {std::max(unary.alpha, unary.beta), kStraight}});
         }},
    {.name = "Shrink",
     .value =
         [](const Unary &unary, double x) {
           return x < -unary.alpha  ? x + unary.beta
                  : x > unary.alpha ? x - unary.beta
                  : std::isnan(x)   ? x
                                    : 0;
         },
     .derivative =
         [](const Unary &unary, double x) {
           return step(x, x < -unary.alpha || x > unary.alpha);
         },
     .facts = {.ofNaN = Interval::point(0)},
     .numbers = {.alpha = "lambd", .beta = "bias"},
     .exactImage = shrinkImage,
     .breaks =
         [](const Unary &unary, llvm::SmallVectorImpl<double> &points) {
           points.append({-unary.alpha, unary.alpha});
         }},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kPiecewise(kRows);

MPOPT_NAMED_FUNCTION(HardSigmoid)
MPOPT_NAMED_FUNCTION(HardTanh)
MPOPT_NAMED_FUNCTION(LeakyRelu)
MPOPT_NAMED_FUNCTION(Relu)
MPOPT_NAMED_FUNCTION(ThresholdedRelu)
