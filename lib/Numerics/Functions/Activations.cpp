//===- Activations.cpp - Smooth activations
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

using namespace mpopt;
using namespace mpopt::functions;

static double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// From here on tanh(log(1 + e^x)) is 1.
static constexpr double kMishLinear = 40;

static double mish(double x) {
  // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2).
  if (x > kMishLinear)
    return x;
  double e = std::exp(x), product = e * (e + 2);
  return gate(x, product / (product + 2));
}

/// With the same p = e (e + 2): t' = 4 e (e + 1) / (p + 2)^2.
static double mishSlope(double x) {
  if (x > kMishLinear)
    return 1;
  double e = std::exp(x), product = e * (e + 2), divisor = product + 2;
  return product / divisor + gate(x, 4 * e * (e + 1) / (divisor * divisor));
}

static double tanhShrink(double x) {
  if (std::fabs(x) > 0.05)
    return std::isinf(x) ? x : x - std::tanh(x);
  // The series of x - tanh(x); the next term is below 1e-15 of the sum.
  double s = x * x;
  return x * s *
         (1.0 / 3 -
          s * (2.0 / 15 -
               s * (17.0 / 315 - s * (62.0 / 2835 - s * 1382 / 155925))));
}

/// x sigmoid(alpha x); at an infinity the sigmoid's tail is 0 before x times it
/// is NaN.
static double silu(const Unary &unary, double x) {
  return gate(x, sigmoid(unary.alpha * x));
}
static double siluSlope(const Unary &unary, double x) {
  double inner = unary.alpha * x;
  return sigmoid(inner) + gate(inner, sigmoid(inner) * sigmoid(-inner));
}
static void siluFacts(const Unary &unary, FunctionFacts &facts) {
  double alpha = std::fabs(unary.alpha);
  facts.kernel = units(8, alpha == 1 || alpha == 0 ? 0 : 2 / alpha);
  facts.kernel.inputNormals = 1;
  (unary.alpha > 0 ? facts.nanAtNegInf : facts.nanAtPosInf) = true;
}
static void siluBreaks(const Unary &unary,
                       llvm::SmallVectorImpl<double> &points) {
  if (unary.alpha != 0)
    points.push_back(-1.2784645427610738 / unary.alpha);
}

/// Convex between the zeros of the second derivative, x tanh(x / 2) = 2.
static void siluBends(const Unary &unary, Bends &pieces) {
  double at = 2.3993572805154675 / std::fabs(unary.alpha);
  if (unary.alpha == 0) // a half of x
    return pieces.push_back({-kInfinity, kStraight});
  Curvature outside = unary.alpha < 0 ? kConvex : kConcave;
  Curvature inside = unary.alpha < 0 ? kConcave : kConvex;
  pieces.append({{-kInfinity, outside}, {-at, inside}, {at, outside}});
}

/// GELU with tanh is x sigmoid(u), u = scale (x + cubic x^3).
static constexpr double kCubic = 0.044715;
static double geluTanhInner(double x) {
  return 2 * std::sqrt(2 / kPi) * (x + kCubic * x * x * x);
}
static double geluTanhSlope(double x) {
  double inner = geluTanhInner(x);
  double bell = sigmoid(inner) * sigmoid(-inner);
  double growth = 2 * std::sqrt(2 / kPi) * (1 + 3 * kCubic * x * x);
  return sigmoid(inner) + gate(x, bell == 0 ? 0 : bell * growth);
}

/// The slope changes at zero.
static void kinkAtZero(const Unary &, llvm::SmallVectorImpl<double> &points) {
  points.push_back(0);
}

/// A row for each function.
static constexpr FunctionRow kRows[] = {
    {.name = "Elu",
     .value = [](const Unary &unary,
                 double x) { return x < 0 ? unary.alpha * std::expm1(x) : x; },
     .derivative =
         [](const Unary &unary, double x) {
           return x > 0 ? 1 : unary.alpha * std::exp(x);
         },
     .facts = {.margin = kLibm},
     .numbers = {.alpha = "alpha"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.kernel = units(4, 4 * std::fabs(unary.alpha));
           facts.contracts = std::fabs(unary.alpha) <= 1;
         },
     .breaks = kinkAtZero,
     .bends =
         [](const Unary &unary, Bends &pieces) {
           pieces.append({{-kInfinity, unary.alpha < 0 ? kConcave : kConvex},
                          {0, kStraight}});
         }},
    {.name = "Celu",
     .value =
         [](const Unary &unary, double x) {
           double part = unary.alpha * std::expm1(x / unary.alpha);
           return (x > 0 ? x : 0) + (part < 0 ? part : std::isnan(x) ? x : 0);
         },
     .derivative =
         [](const Unary &unary, double x) {
           return x > 0 ? 1 : std::exp(x / unary.alpha);
         },
     .facts = {.margin = kComposite, .monotone = Monotone::Increasing},
     .numbers = {.alpha = "alpha"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           // For alpha < 0 the exponential grows, and the rounding of x / alpha
           // with its logarithm, 709 at most.
           facts.kernel =
               units(unary.alpha < 0 ? 400 : 4, 6 * std::fabs(unary.alpha));
         },
     .breaks = kinkAtZero},
    {.name = "Selu",
     .value =
         [](const Unary &unary, double x) {
           return unary.beta * (x > 0 ? x : unary.alpha * std::expm1(x));
         },
     .derivative =
         [](const Unary &unary, double x) {
           return unary.beta * (x > 0 ? 1 : unary.alpha * std::exp(x));
         },
     .facts = {.margin = kLibm},
     .numbers = {.alpha = "alpha", .beta = "gamma"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.kernel =
               units(6, 4 * std::fabs(unary.alpha) * std::fabs(unary.beta));
         },
     .breaks = kinkAtZero},
    {.name = "Sigmoid",
     .value = [](const Unary &, double x) { return sigmoid(x); },
     .derivative = [](const Unary &,
                      double x) { return sigmoid(x) * sigmoid(-x); },
     .facts = {.range = {0, 1},
               .margin = kLibm,
               .kernel = {.ulps = 4, .normals = 1},
               .monotone = Monotone::Increasing,
               .approximated = true},
     .bends = bendsAtZero<kConvex, kConcave>},
    {.name = "LogSigmoid",
     .value = [](const Unary &, double x) { return -softplus(-x); },
     .derivative = [](const Unary &, double x) { return sigmoid(-x); },
     .facts = {.range = {-kInfinity, 0},
               .margin = kLibm,
               .kernel = units(4, 4),
               .monotone = Monotone::Increasing},
     .bends = bends<kConcave>},
    {.name = "Softplus",
     .value =
         [](const Unary &unary, double x) {
           double inner = unary.alpha * x;
           return inner > unary.threshold ? x : softplus(inner) / unary.alpha;
         },
     .derivative =
         [](const Unary &unary, double x) {
           double inner = unary.alpha * x;
           return inner > unary.threshold ? 1 : sigmoid(inner);
         },
     .facts = {.margin = kComposite},
     .numbers = {.alpha = "beta", .threshold = "threshold"},
     .adapt =
         [](const Unary &unary, FunctionFacts &facts) {
           facts.kernel = units(6, 4 / std::fabs(unary.alpha));
         },
     .breaks =
         [](const Unary &unary, llvm::SmallVectorImpl<double> &points) {
           double at = unary.threshold / unary.alpha;
           if (std::isfinite(at))
             points.push_back(at);
         },
     // The jump to x itself; a kernel may take it a rounding early or late.
     .interior =
         [](const Unary &unary, const Interval &x,
            llvm::SmallVectorImpl<double> &values) {
           Unary smooth = unary;
           smooth.threshold = kInfinity;
           for (double at : getBreaks(unary))
             if (x.widened(0x1p-7).contains(at))
               values.append({evaluate(smooth, at), at});
         }},
    // Kernels compute it by way of 1 / (1 + |x|): two roundings.
    {.name = "Softsign",
     .value =
         [](const Unary &, double x) {
           return std::isinf(x) ? std::copysign(1.0, x)
                                : x / (1 + std::fabs(x));
         },
     .derivative =
         [](const Unary &, double x) {
           double part = 1 / (1 + std::fabs(x));
           return part * part;
         },
     .facts = {.range = {-1, 1},
               .margin = kLibm,
               .kernel = units(4),
               .monotone = Monotone::Increasing,
               .growsFromZero = true,
               .contracts = true,
               .nanAtPosInf = true,
               .nanAtNegInf = true,
               .rangeUlps = 2},
     .bends = bendsAtZero<kConvex, kConcave>},
    {.name = "TanhShrink",
     .value = [](const Unary &, double x) { return tanhShrink(x); },
     .derivative =
         [](const Unary &, double x) {
           double tanh = std::tanh(x);
           return tanh * tanh;
         },
     .facts = {.margin = kComposite,
               .kernel = signless(units(2, 0, 4, 1)),
               .monotone = Monotone::Increasing},
     .bends = bendsAtZero<kConcave, kConvex>},
    {.name = "Mish",
     .value = [](const Unary &, double x) { return mish(x); },
     .derivative = [](const Unary &, double x) { return mishSlope(x); },
     .facts = {.margin = kComposite,
               .kernel = units(12, 0, 6, 40),
               .nanAtNegInf = true},
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(-1.1924312145154952);
         }},
    {.name = "Silu",
     .value = silu,
     .derivative = siluSlope,
     .facts = {.margin = kComposite,
               .contracts = true,
               .approximated = true,
               .timesApproximated = true},
     .numbers = {.alpha = "alpha"},
     .adapt = siluFacts,
     .breaks = siluBreaks,
     .bends = siluBends},
    {.name = "QuickGelu",
     .value = silu,
     .derivative = siluSlope,
     .facts = {.margin = kComposite,
               .contracts = true,
               .approximated = true,
               .timesApproximated = true},
     .numbers = {.alpha = "alpha"},
     .adapt = siluFacts,
     .breaks = siluBreaks,
     .bends = siluBends},
    {.name = "Gelu",
     .value =
         [](const Unary &, double x) {
           return gate(x, std::erfc(-x / std::numbers::sqrt2) / 2);
         },
     .derivative =
         [](const Unary &, double x) {
           double density = std::exp(-x * x / 2) / std::sqrt(2 * kPi);
           return std::erfc(-x / std::numbers::sqrt2) / 2 + gate(x, density);
         },
     .facts = {.margin = kComposite,
               .kernel = units(12, 0, 6, 40),
               .contracts = true,
               .nanAtNegInf = true},
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(-0.7517915246935645);
         },
     .bends =
         [](const Unary &, Bends &pieces) {
           // Its second derivative is the density times 2 - x^2.
           pieces.append({{-kInfinity, kConcave},
                          {-std::numbers::sqrt2, kConvex},
                          {std::numbers::sqrt2, kConcave}});
         }},
    // Rational forms of tanh reach past -1, and 1 + tanh below 0 (ONNX
    // Runtime).
    {.name = "GeluTanh",
     .value = [](const Unary &,
                 double x) { return gate(x, sigmoid(geluTanhInner(x))); },
     .derivative = [](const Unary &, double x) { return geluTanhSlope(x); },
     .facts = {.margin = kComposite,
               .kernel = signless(units(12, 0, 6, 40)),
               .contracts = true,
               .nanAtNegInf = true},
     .breaks =
         [](const Unary &, llvm::SmallVectorImpl<double> &points) {
           points.push_back(-0.7524614220710162);
         }},
};

constinit const llvm::ArrayRef<FunctionRow> functions::kActivations(kRows);

MPOPT_NAMED_FUNCTION(Elu)
MPOPT_NAMED_FUNCTION(Gelu)
MPOPT_NAMED_FUNCTION(Sigmoid)
MPOPT_NAMED_FUNCTION(Silu)
MPOPT_NAMED_FUNCTION(Softplus)
MPOPT_NAMED_FUNCTION(Softsign)
