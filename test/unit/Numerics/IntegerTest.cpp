//===- IntegerTest.cpp - Images under operations on bits
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Integer.h"
#include "mpopt/Numerics/Binary.h"

#include "test/unit/Numerics/Samples.h"

#include "gtest/gtest.h"

#include <random>

using namespace mpopt;

namespace {

FloatRange of(double low, double high) {
  FloatRange range;
  range.finite = {low, high};
  range.integral = true;
  range.tighten();
  return range;
}

/// Every operation of one type on random boxes.
template <typename T> void checkType() {
  IntegerFormat format = {8 * sizeof(T), std::is_signed_v<T>};
  std::mt19937 generator(3);
  for (int box = 0; box < 400; ++box) {
    // Ends at every scale.
    auto draw = [&] {
      return T(T(generator()) >> (generator() % format.bits));
    };
    T ends[] = {draw(), draw(), draw(), draw()};
    T a0 = std::min(ends[0], ends[1]), a1 = std::max(ends[0], ends[1]);
    T b0 = std::min(ends[2], ends[3]), b1 = std::max(ends[2], ends[3]);
    unsigned s0 = generator() % format.bits, s1 = generator() % format.bits;
    if (s0 > s1)
      std::swap(s0, s1);
    FloatRange a = of(a0, a1), b = of(b0, b1), shift = of(s0, s1);
    for (int i = 0; i < 20; ++i) {
      auto pick = [&](T low, T high) {
        return T(
            std::uniform_int_distribution<std::int64_t>(low, high)(generator));
      };
      T x = pick(a0, a1), y = pick(b0, b1);
      unsigned s = s0 + generator() % (s1 - s0 + 1);
      auto expect = [&](const FloatRange &image, T value, const char *what) {
        ASSERT_TRUE(image.contains(double(value)))
            << what << " of " << +x << " and " << +y << " is " << +value
            << ", not in " << image << ", for " << a << " and " << b;
      };
      expect(range::bitwiseNot(a, format), T(~x), "not");
      expect(range::bitwiseAnd(a, b, format), T(x & y), "and");
      expect(range::bitwiseOr(a, b, format), T(x | y), "or");
      expect(range::bitwiseXor(a, b, format), T(x ^ y), "xor");
      expect(range::shiftLeft(a, shift, format),
             T(std::make_unsigned_t<T>(x) << s), "shift left");
      expect(range::shiftRight(a, shift, format), T(x >> s), "shift right");
      expect(format.wrap(range::add(a, b)),
             T(std::make_unsigned_t<T>(x) + std::make_unsigned_t<T>(y)), "sum");
      if (y != 0 && !(std::is_signed_v<T> && y == T(-1)))
        expect(range::truncDiv(a, b), T(x / y), "quotient");
    }
  }
}

TEST(Integer, HoldsEveryValue) {
  checkType<std::int8_t>();
  checkType<std::uint8_t>();
  checkType<std::int16_t>();
  checkType<std::int32_t>();
  checkType<std::uint32_t>();
}

TEST(Integer, Tight) {
  IntegerFormat i32 = {32, true}, u8 = {8, false};
  EXPECT_EQ(u8.all().finite, (Interval{0, 255}));
  EXPECT_EQ(i32.all().finite, (Interval{-2147483648.0, 2147483647.0}));
  EXPECT_EQ(range::bitwiseAnd(of(0, 100), of(-5, 7), i32).finite,
            (Interval{0, 100}));
  EXPECT_EQ(range::bitwiseAnd(of(0, 100), of(0, 7), i32).finite,
            (Interval{0, 7}));
  EXPECT_EQ(range::bitwiseOr(of(3, 4), of(0, 9), i32).finite,
            (Interval{3, 15}));
  EXPECT_EQ(range::shiftRight(of(-9, 9), of(1, 1), i32).finite,
            (Interval{-5, 4}));
  EXPECT_EQ(range::shiftLeft(of(1, 3), of(2, 4), u8).finite, (Interval{4, 48}));
  EXPECT_EQ(range::bitwiseNot(of(0, 5), u8).finite, (Interval{250, 255}));
  EXPECT_EQ(i32.wrap(of(0, 7)).finite, (Interval{0, 7}));
  // Inf cast to an integer may be any.
  EXPECT_EQ(u8.wrap(FloatRange::point(HUGE_VAL)), u8.all());
}

} // namespace
