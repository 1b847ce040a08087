//===- BinaryTest.cpp - Images under functions of several numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Numerics/Unary.h"

#include "test/unit/Numerics/Samples.h"

#include "gtest/gtest.h"

#include <functional>
#include <numbers>

using namespace mpopt;
using range::Comparison;
using range::Truth;

namespace {

/// A function of three operands (some ignored): its image, and kernels as they
/// are written in practice.
struct Row {
  const char *name;
  std::function<FloatRange(const FloatRange &, const FloatRange &,
                           const FloatRange &, const ComputeError &)>
      image;
  std::vector<std::function<Soft(Soft, Soft, Soft)>> kernels;
};

double pythonRemainder(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Soft viaFloat(Soft a, Soft b, float (*narrow)(float, float),
              double (*wide)(double, double)) {
  if (a.format == &FloatFormat::f32())
    return {a.format, narrow(float(a.value), float(b.value))};
  return a.with(wide(a.value, b.value));
}

constexpr double kFactor = -0.7;

std::vector<Row> getRows() {
  using R = const FloatRange &;
  using E = const ComputeError &;
  auto pick = [](bool first, Soft a, Soft b) { return first ? a : b; };
  return {
      {"add",
       [](R a, R b, R, E) { return range::add(a, b); },
       {[](Soft a, Soft b, Soft) { return a + b; }}},
      {"sub",
       [](R a, R b, R, E) { return range::sub(a, b); },
       {[](Soft a, Soft b, Soft) { return a - b; }}},
      {"mul",
       [](R a, R b, R, E) { return range::mul(a, b); },
       {[](Soft a, Soft b, Soft) { return a * b; }}},
      {"div",
       [](R a, R b, R, E e) { return range::div(a, b, e); },
       {[](Soft a, Soft b, Soft) { return a / b; }}},
      {"floor_div",
       [](R a, R b, R, E e) { return range::floorDiv(a, b, e); },
       {[](Soft a, Soft b, Soft) { return a.with(std::floor((a / b).value)); },
        [](Soft a, Soft b, Soft) {
          // Through the remainder, as PyTorch does.
          if (b.value == 0)
            return a / b;
          Soft rest = a.with(std::fmod(a.value, b.value));
          Soft quotient = (a - rest) / b;
          if (rest.value != 0 && (rest.value < 0) != (b.value < 0))
            quotient = quotient - a.with(1);
          double whole = std::floor(quotient.value);
          return a.with(quotient.value - whole > 0.5 ? whole + 1 : whole);
        }}},
      {"fmod",
       [](R a, R b, R, E) { return range::fmod(a, b); },
       {[](Soft a, Soft b, Soft) {
         return a.with(std::fmod(a.value, b.value));
       }}},
      {"remainder",
       [](R a, R b, R, E) { return range::remainder(a, b); },
       {[](Soft a, Soft b, Soft) {
         return a.with(pythonRemainder(a.value, b.value));
       }}},
      {"pow",
       [](R a, R b, R, E e) { return range::pow(a, b, e); },
       {[](Soft a, Soft b, Soft) {
         return viaFloat(
             a, b, [](float x, float y) { return std::pow(x, y); },
             [](double x, double y) { return std::pow(x, y); });
       }}},
      {"atan2",
       [](R a, R b, R, E e) { return range::atan2(a, b, e); },
       {[](Soft a, Soft b, Soft) {
         return viaFloat(
             a, b, [](float x, float y) { return std::atan2(x, y); },
             [](double x, double y) { return std::atan2(x, y); });
       }}},
      {"max",
       [](R a, R b, R, E) { return range::max(a, b); },
       {[=](Soft a, Soft b, Soft) { return pick(a.value > b.value, a, b); },
        [=](Soft a, Soft b, Soft) { return pick(b.value > a.value, b, a); }}},
      {"min",
       [](R a, R b, R, E) { return range::min(a, b); },
       {[=](Soft a, Soft b, Soft) { return pick(a.value < b.value, a, b); },
        [=](Soft a, Soft b, Soft) { return pick(b.value < a.value, b, a); }}},
      {"clip",
       [](R a, R b, R c, E) { return range::clip(a, b, c); },
       {[=](Soft a, Soft b, Soft c) {
         Soft above = pick(a.value > b.value, a, b);
         return pick(above.value < c.value, above, c);
       }}},
      {"where",
       [](R a, R b, R c, E) {
         Truth less = range::compare(Comparison::Less, a, b);
         return range::where(less, range::refine(a, Comparison::Less, b), c);
       },
       {[=](Soft a, Soft b, Soft c) { return pick(a.value < b.value, a, c); }}},
      {"where_not_zero",
       [](R a, R, R c, E) {
         FloatRange zero = FloatRange::point(0);
         return range::where(range::compare(Comparison::NotEqual, a, zero),
                             range::refine(a, Comparison::NotEqual, zero), c);
       },
       {[=](Soft a, Soft, Soft c) { return pick(a.value != 0, a, c); }}},
      {"prelu",
       [](R a, R b, R, E) { return range::prelu(a, b); },
       {[](Soft a, Soft b, Soft) { return a.value < 0 ? a * b : a; }}},
      {"swiglu",
       [](R a, R b, R, E e) { return range::swiglu(a, b, 1.3, e); },
       {[](Soft a, Soft b, Soft) {
         Soft one = a.with(1), scaled = -(a.with(1.3) * a);
         Soft e = a.with(a.format == &FloatFormat::f32()
                             ? std::exp(float(scaled.value))
                             : std::exp(scaled.value));
         return a / (one + e) * b;
       }}},
      {"addcmul",
       [](R x, R a, R b, E e) { return range::addcmul(x, a, b, kFactor, e); },
       {[](Soft x, Soft a, Soft b) { return x + a.with(kFactor) * a * b; },
        [](Soft x, Soft a, Soft b) { return x + a.with(kFactor) * (a * b); }}},
      {"addcdiv",
       [](R x, R a, R b, E e) { return range::addcdiv(x, a, b, kFactor, e); },
       {[](Soft x, Soft a, Soft b) { return x + a.with(kFactor) * (a / b); },
        [](Soft x, Soft a, Soft b) { return x + a.with(kFactor) * a / b; }}},
      {"lerp",
       [](R a, R b, R w, E e) { return range::lerp(a, b, w, e); },
       {[](Soft a, Soft b, Soft w) { return a + w * (b - a); },
        [](Soft a, Soft b, Soft w) { return b - (b - a) * (a.with(1) - w); }}},
  };
}

struct Case {
  const FloatFormat *stored, *computed;
};

std::vector<Case> getCases() {
  const FloatFormat *f32 = &FloatFormat::f32(), *f16 = &FloatFormat::f16(),
                    *bf16 = &FloatFormat::bf16(), *f64 = &FloatFormat::f64();
  return {{f64, f64},  {f32, f32}, {f16, f32},
          {bf16, f32}, {f16, f16}, {bf16, bf16}};
}

TEST(Binary, HoldsEveryValue) {
  for (const Row &row : getRows()) {
    bool held = true;
    for (auto [stored, computed] : getCases()) {
      Samples samples(*stored, 29);
      for (int box = 0; box < 200 && held; ++box) {
        FloatRange a = samples.box(), b = samples.box(), c = samples.box();
        if (box % 4 == 0) { // Integers, as exponents and steps are.
          b.finite = Interval::point(double(box % 9) - 4);
          b.minNonZero = 0;
          b.tighten();
        }
        FloatRange image =
            row.image(a, b, c, ComputeError::in(*computed)).store(*stored);
        for (int i = 0; i < 15 && held; ++i) {
          double x = samples.in(a), y = samples.in(b), z = samples.in(c);
          for (const auto &kernel : row.kernels) {
            Soft result = kernel({computed, x}, {computed, y}, {computed, z});
            double value = stored->round(result.value);
            EXPECT_TRUE(held &= image.contains(value))
                << row.name << "(" << x << ", " << y << ", " << z
                << ") = " << value << " for " << a << " and " << b << " and "
                << c << " is not in " << image << ", " << stored->name.str()
                << " by " << computed->name.str();
          }
        }
      }
    }
  }
}

TEST(Binary, ComparesEverySample) {
  Samples samples(FloatFormat::f16(), 31);
  for (int box = 0; box < 1000; ++box) {
    FloatRange a = samples.box(), b = box % 3 ? samples.box() : a;
    Truth truths[6];
    for (int i = 0; i < 6; ++i)
      truths[i] = range::compare(Comparison(i), a, b);
    for (int i = 0; i < 12; ++i) {
      double x = samples.in(a), y = samples.in(b);
      bool outcomes[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
      for (int j = 0; j < 6; ++j) {
        ASSERT_TRUE(outcomes[j] ? truths[j].mayBeTrue : truths[j].mayBeFalse)
            << "comparison " << j << " of " << x << " and " << y << ", " << a
            << " and " << b;
        if (outcomes[j])
          ASSERT_TRUE(range::refine(a, Comparison(j), b).contains(x))
              << "comparison " << j << " of " << x << " and " << y << ", " << a
              << " and " << b;
      }
      ASSERT_TRUE(std::isnan(x) ? range::isNaN(a).mayBeTrue
                                : range::isNaN(a).mayBeFalse);
      ASSERT_TRUE(std::isinf(x) ? range::isInf(a).mayBeTrue
                                : range::isInf(a).mayBeFalse);
      ASSERT_TRUE(std::isfinite(x) ? range::isFinite(a).mayBeTrue
                                   : range::isFinite(a).mayBeFalse);
    }
  }
}

TEST(Binary, Consequences) {
  ComputeError error;
  FloatRange infinity = FloatRange::point(HUGE_VAL);
  FloatRange one = FloatRange::point(1), zero = FloatRange::point(0);
  EXPECT_EQ(range::div(one, infinity, error).finite, Interval::point(0));
  EXPECT_TRUE(range::div(one, infinity, error).isFinite());
  EXPECT_TRUE(range::sub(infinity, infinity).nan);
  EXPECT_TRUE(range::mul(zero, infinity).nan);
  EXPECT_TRUE(range::div(infinity, infinity, error).nan);
  EXPECT_TRUE(range::div(zero, zero, error).nan);
  EXPECT_EQ(range::min(infinity, one), one);
  EXPECT_FALSE(range::add(infinity, one).nan);
  // A divisor without zero is bounded by its smallest value.
  FloatRange divisor = FloatRange::of({0x1p-24, 1});
  EXPECT_EQ(range::div(one, divisor, error).finite, (Interval{1, 0x1p24}));
  EXPECT_TRUE(range::div(one, divisor, error).isFinite());
  // The clip of a probability keeps the logarithm finite.
  FloatRange clipped = range::clip(FloatRange::of({0, 1}),
                                   FloatRange::point(1e-6), std::nullopt);
  EXPECT_TRUE(apply({UnaryFunction::Log}, clipped, error).isFinite());
  // A guard refines its branch: log(x > 0 ? x : 1).
  FloatRange x = FloatRange::of({-3, 3}).store(FloatFormat::f32());
  FloatRange guarded = range::where(
      Truth::unknown(), range::refine(x, Comparison::Greater, zero), one);
  EXPECT_TRUE(apply({UnaryFunction::Log}, guarded, error).isFinite());
  EXPECT_TRUE(apply({UnaryFunction::Log}, x, error).nan);
}

TEST(Binary, Logic) {
  Truth yes = {true, false}, no = {false, true}, either = Truth::unknown();
  EXPECT_EQ(yes & either, either);
  EXPECT_EQ(no & either, no);
  EXPECT_EQ(yes | either, yes);
  EXPECT_EQ(no | either, either);
  EXPECT_EQ(yes ^ no, yes);
  EXPECT_EQ(yes ^ yes, no);
  EXPECT_EQ(!yes, no);
  EXPECT_EQ(either.toRange().finite, (Interval{0, 1}));
  EXPECT_EQ(yes.toRange(), FloatRange::point(1));
}

TEST(Binary, Tight) {
  ComputeError error;
  auto of = [](double low, double high) { return FloatRange::of({low, high}); };
  EXPECT_EQ(range::add(of(-1, 2), of(3, 4)).finite, (Interval{2, 6}));
  EXPECT_EQ(range::mul(of(-1, 2), of(3, 4)).finite, (Interval{-4, 8}));
  EXPECT_EQ(range::div(of(-1, 2), of(4, 8), error).finite,
            (Interval{-0.25, 0.5}));
  EXPECT_EQ(range::pow(of(-50, 50), FloatRange::point(2), error).finite,
            (Interval{0, 2500}));
  EXPECT_EQ(range::fmod(of(-1, 2), of(4, 8)).finite, (Interval{-1, 2}));
  EXPECT_EQ(range::remainder(of(-1, 2), of(4, 8)).finite, (Interval{0, 8}));
  EXPECT_EQ(range::clip(of(-9, 9), of(0, 0), of(6, 6)).finite,
            (Interval{0, 6}));
  EXPECT_EQ(range::compare(Comparison::Less, of(0, 1), of(2, 3)),
            (Truth{true, false}));
  EXPECT_EQ(range::compare(Comparison::Equal, of(0, 1), of(2, 3)),
            (Truth{false, true}));
  FloatRange angle = range::atan2(of(1, 2), of(1, 2), error);
  EXPECT_NEAR(angle.finite.hi, std::atan2(2, 1), 1e-5);
  FloatRange inside = range::lerp(of(-1, 2), of(3, 4), of(0, 1), error);
  EXPECT_NEAR(inside.finite.lo, -1, 1e-5);
  EXPECT_NEAR(inside.finite.hi, 4, 1e-5);
}

} // namespace
