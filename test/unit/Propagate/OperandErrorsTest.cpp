//===- OperandErrorsTest.cpp - Moments of errors against draws
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/OperandErrors.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mpopt;

/// The mean square of what storing so many normal numbers changes.
static double measure(double mean, double deviation,
                      const StorageFormat &format) {
  constexpr int kCount = 100'000;
  std::mt19937 random(1);
  std::normal_distribution<double> numbers(mean, deviation);
  double square = 0;
  for (int count = 0; count < kCount; ++count) {
    double x = numbers(random), error = format.round(x) - x;
    square += error * error / kCount;
  }
  return square;
}

TEST(OperandErrors, RoundingOfFloats) {
  StorageFormat codes = *StorageFormat::byName("f8E4M3FN");
  codes.saturates = true;
  // Over scales: the largest number, at 4 deviations, anywhere in a binade.
  for (double scale : {1.0, 1.19, 1.41, 1.68}) {
    StorageFormat format = codes.scaled(scale * 4 / 448);
    double measured = measure(0, 1, format);
    EXPECT_NEAR(roundingSquareOf(0, 1, format) / measured, 1, 0.1) << scale;
  }
}

TEST(OperandErrors, FlushedNumbersAreLost) {
  StorageFormat codes = *StorageFormat::byName("f8E4M3FN");
  codes.saturates = true;
  // A channel that is 2^17, 2^19 and 2^21 times smaller than the largest.
  for (int apart : {17, 19, 21}) {
    StorageFormat format = codes.scaled(std::ldexp(1, apart) / 448);
    double measured = measure(0, 1, format);
    EXPECT_NEAR(roundingSquareOf(0, 1, format) / measured, 1, 0.1) << apart;
  }
}

TEST(OperandErrors, ClippedNumbersKeepTheEnd) {
  StorageFormat codes = *StorageFormat::byName("f8E4M3FN");
  codes.saturates = true;
  for (double end : {0.5, 1.0, 2.0}) {
    StorageFormat format = codes.scaled(end / 448);
    double measured = measure(0, 1, format);
    EXPECT_NEAR(scalingSquareOf(0, 1, format) / measured, 1, 0.15) << end;
  }
}

TEST(OperandErrors, RoundingOfIntegers) {
  StorageFormat format =
      StorageFormat::integers(8, /*isSigned=*/true).scaled(4.0 / 127);
  EXPECT_NEAR(roundingSquareOf(0, 1, format) / measure(0, 1, format), 1, 0.1);
}

TEST(OperandErrors, LargestOfAMixture) {
  // A block of 31 small numbers and one channel that decides.
  std::vector<ScaleMember> members = {{31, 0, 1e-6}, {1, 0, 1}};
  std::mt19937 random(1);
  std::normal_distribution<double> numbers(0, 1);
  constexpr int kBlocks = 20'001;
  std::vector<double> largest;
  for (int block = 0; block < kBlocks; ++block) {
    double most = std::fabs(numbers(random));
    for (int count = 0; count < 31; ++count)
      most = std::max(most, 1e-3 * std::fabs(numbers(random)));
    largest.push_back(most);
  }
  std::nth_element(largest.begin(), largest.begin() + kBlocks / 2,
                   largest.end());
  // The number past it is taken as Poisson's, of a mean of ln 2, which one
  // number alone is not.
  EXPECT_NEAR(expectedLargest(members) / largest[kBlocks / 2], 1, 0.45);
  EXPECT_NEAR(expectedLargest({{1000, 0, 1}}), 3.4, 0.1);
  EXPECT_NEAR(expectedLargest({{1000, 2, 0}}), 2, 1e-3);
}
