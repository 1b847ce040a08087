//===- IntervalTest.cpp - Closed intervals, rounded outward
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directed rounding is compared with the FPU's own modes, images with samples
// in 80-bit arithmetic: its rounding is monotone, so that a value inside the
// interval stays inside.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Numerics/Rounding.h"

#include "gtest/gtest.h"

#include <bit>
#include <cfenv>
#include <functional>
#include <random>

using namespace mpopt;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

/// Finite doubles: every exponent, small integers, the edges.
class Values {
public:
  double next() {
    switch (generator() % 4) {
    case 0:
      return double(int(generator() % 41)) - 20;
    case 1: {
      static constexpr double edges[] = {0,          1,         -1,
                                         kLargest,   -kLargest, kSmallest,
                                         -kSmallest, 0x1p-1022, 0x1p-960};
      return edges[generator() % std::size(edges)];
    }
    case 2:
      return std::ldexp(signedUnit(), int(generator() % 40) - 20);
    default:
      double value = std::bit_cast<double>(generator());
      return std::isfinite(value) ? value : 1;
    }
  }
  Interval box() {
    double a = next(), b = next();
    return {std::min(a, b), std::max(a, b)};
  }
  /// The ends too, and zero.
  double in(const Interval &box) {
    switch (generator() % 6) {
    case 0:
      return box.lo;
    case 1:
      return box.hi;
    case 2:
      return box.contains(0.0) ? 0 : box.lo;
    default:
      double part = std::fabs(signedUnit());
      double value = box.lo * (1 - part) + box.hi * part;
      return std::clamp(value, box.lo, box.hi);
    }
  }

private:
  double signedUnit() { return double(std::int64_t(generator())) * 0x1p-63; }
  std::mt19937_64 generator{20240229};
};

double rounded(int mode, const std::function<double()> &operation) {
  std::fesetround(mode);
  double result = operation();
  std::fesetround(FE_TONEAREST);
  return result;
}

TEST(Rounding, MatchesTheFpu) {
  Values values;
  for (int i = 0; i < 20000; ++i) {
    volatile double a = values.next(), b = values.next();
    double down = rounded(FE_DOWNWARD, [&] { return a + b; });
    double up = rounded(FE_UPWARD, [&] { return a + b; });
    ASSERT_EQ(addDown(a, b), down) << a << " + " << b;
    ASSERT_EQ(addUp(a, b), up) << a << " + " << b;
    // Tiny products and quotients may be one step wider.
    down = rounded(FE_DOWNWARD, [&] { return a * b; });
    up = rounded(FE_UPWARD, [&] { return a * b; });
    bool tiny = std::fabs(a * b) < 0x1p-959;
    ASSERT_TRUE(mulDown(a, b) == down ||
                (tiny && mulDown(a, b) == nextDown(down)))
        << a << " * " << b;
    ASSERT_TRUE(mulUp(a, b) == up || (tiny && mulUp(a, b) == nextUp(up)));
    if (b == 0)
      continue;
    down = rounded(FE_DOWNWARD, [&] { return a / b; });
    up = rounded(FE_UPWARD, [&] { return a / b; });
    tiny = std::fabs(a / b) < 0x1p-959 || std::fabs(a) < 0x1p-959;
    ASSERT_TRUE(divDown(a, b) == down ||
                (tiny && divDown(a, b) == nextDown(down)))
        << a << " / " << b;
    ASSERT_TRUE(divUp(a, b) == up || (tiny && divUp(a, b) == nextUp(up)));
    volatile double c = std::fabs(a);
    down = rounded(FE_DOWNWARD, [&] { return std::sqrt(c); });
    up = rounded(FE_UPWARD, [&] { return std::sqrt(c); });
    ASSERT_LE(sqrtDown(c), down);
    ASSERT_GE(sqrtUp(c), up);
    if (c > 0x1p-960) {
      ASSERT_EQ(sqrtDown(c), down);
      ASSERT_EQ(sqrtUp(c), up);
    }
  }
}

TEST(Rounding, Neighbours) {
  for (double value : {0.0, 1.0, -1.0, kLargest, -kLargest, kSmallest,
                       -kSmallest, kInfinity, -kInfinity}) {
    EXPECT_EQ(nextUp(value), std::nextafter(value, kInfinity)) << value;
    EXPECT_EQ(nextDown(value), std::nextafter(value, -kInfinity)) << value;
  }
}

TEST(Interval, HoldsEverySample) {
  Values values;
  for (int i = 0; i < 4000; ++i) {
    Interval a = values.box(), b = values.box();
    Interval sum = a + b, difference = a - b, product = a * b, quotient = a / b;
    Interval low = min(a, b), high = max(a, b), power = pow(a, b);
    for (int j = 0; j < 8; ++j) {
      double x = values.in(a), y = values.in(b);
      long double wideX = x, wideY = y;
      auto holds = [](const Interval &interval, long double value) {
        return interval.lo <= value && value <= interval.hi;
      };
      ASSERT_TRUE(holds(sum, wideX + wideY)) << x << " " << y;
      ASSERT_TRUE(holds(difference, wideX - wideY)) << x << " " << y;
      ASSERT_TRUE(holds(product, wideX * wideY)) << x << " " << y;
      if (y != 0) {
        ASSERT_TRUE(holds(quotient, wideX / wideY)) << x << " " << y;
        ASSERT_TRUE(holds(reciprocal(b), 1 / wideY)) << y;
      }
      ASSERT_TRUE(low.contains(std::min(x, y)));
      ASSERT_TRUE(high.contains(std::max(x, y)));
      ASSERT_TRUE(abs(a).contains(std::fabs(x)));
      ASSERT_TRUE(holds(square(a), wideX * wideX)) << x;
      ASSERT_TRUE((-a).contains(-x));
      if (x >= 0)
        ASSERT_TRUE(holds(sqrt(a), std::sqrt(wideX)));
      for (double exponent : {y, std::floor(y)}) {
        if (!b.contains(exponent))
          continue;
        double value = std::pow(x, exponent);
        if (std::isfinite(value))
          ASSERT_TRUE(power.contains(value)) << x << " ^ " << exponent;
      }
      ASSERT_TRUE(hull(a, b).contains(x));
      ASSERT_EQ(intersect(a, b).contains(x), b.contains(x));
    }
    double middle = a.midpoint(), radius = a.radius();
    ASSERT_TRUE(a.contains(middle));
    ASSERT_LE((long double)middle - radius, a.lo);
    ASSERT_GE((long double)middle + radius, a.hi);
    ASSERT_GE(a.width(), (long double)a.hi - a.lo);
  }
}

TEST(Interval, Pow) {
  Interval two = Interval::point(2), three = Interval::point(3);
  // The minimum of an even power lies inside.
  EXPECT_EQ(pow({-50, 50}, two), (Interval{0, 2500}));
  EXPECT_TRUE(pow({-3, 2}, Interval::point(4)).contains(Interval{0, 81}));
  EXPECT_LT(pow({-3, 2}, Interval::point(4)).hi, 81.000001);
  Interval cube = pow({-2, 3}, three);
  EXPECT_TRUE(cube.contains(Interval{-8, 27}));
  EXPECT_GT(cube.lo, -8.000001);
  // Negative bases have integer powers only.
  EXPECT_TRUE(pow({-3, -1}, {0.25, 0.75}).isEmpty());
  EXPECT_TRUE(pow({-3, -1}, {1.5, 2.5}).contains(Interval{1, 9}));
  EXPECT_GE(pow({-3, -1}, {1.5, 2.5}).lo, 0.999999);
  EXPECT_TRUE(pow({-2, 2}, {1, 2}).contains(Interval{-2, 4}));
  // Poles.
  EXPECT_EQ(pow({0, 2}, Interval::point(-1)), (Interval{0.5, kInfinity}));
  EXPECT_EQ(pow({0, 0}, Interval::point(0)), Interval::point(1));
  EXPECT_EQ(pow({4, 9}, Interval::point(0.5)), (Interval{2, 3}));
}

TEST(Interval, EndsAndEmpty) {
  Interval empty = Interval::empty(), whole = Interval::whole();
  EXPECT_TRUE(empty.isEmpty());
  EXPECT_TRUE(whole.contains(1e300));
  EXPECT_EQ(hull(empty, Interval{1, 2}), (Interval{1, 2}));
  EXPECT_TRUE(intersect({0, 1}, {2, 3}).isEmpty());
  EXPECT_TRUE((empty + whole).isEmpty());
  EXPECT_TRUE((empty * whole).isEmpty());
  EXPECT_EQ(Interval::point(0) * whole, Interval::point(0));
  EXPECT_EQ((Interval{0, kInfinity} * Interval{2, 3}),
            (Interval{0, kInfinity}));
  // Past the largest double: unbounded above, but not a bound of Inf below.
  Interval past = Interval::point(kLargest) * 2;
  EXPECT_EQ(past, (Interval{kLargest, kInfinity}));
  EXPECT_EQ((Interval{1, 2} / Interval{0, 4}), (Interval{0.25, kInfinity}));
  EXPECT_EQ((Interval{1, 2} / Interval{-1, 4}), whole);
  EXPECT_TRUE((Interval{1, 2} / Interval::point(0)).isEmpty());
  EXPECT_EQ((Interval{1, kInfinity} / Interval{1, kInfinity}),
            (Interval{0, kInfinity}));
  EXPECT_EQ(Interval::point(1) + Interval::point(1), Interval::point(2));
  EXPECT_EQ((Interval{-3, 2}).maxAbs(), 3);
  EXPECT_EQ((Interval{-3, -2}).minAbs(), 2);
  EXPECT_EQ((Interval{-3, 2}).minAbs(), 0);
  Interval wide = Interval{-1, 4}.widened(0.5, 1);
  EXPECT_EQ(wide, (Interval{-2.5, 7}));
  EXPECT_TRUE(std::isfinite(whole.midpoint()));
  EXPECT_EQ(whole.radius(), kInfinity);
}

} // namespace
