//===- DrawnInputs.cpp - Inputs drawn as they are declared
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Evaluation/DrawnInputs.h"

#include "mpopt/Dialect/Settings.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mpopt;

double RandomNumbers::normal() {
  // Box and Muller (1958).
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

/// The cumulative shares of the numbers from `lo` on; empty where all are as
/// frequent.
static std::vector<double> sharesOf(DictionaryAttr assumed, int64_t count) {
  std::vector<double> shares;
  if (auto known = assumed.getAs<DenseFPElementsAttr>("frequencies")) {
    if (known.getNumElements() != count)
      return {};
    shares.assign(known.value_begin<double>(), known.value_end<double>());
  } else if (auto exponent = assumed.getAs<FloatAttr>("zipf")) {
    for (int64_t i = 0; i < count; ++i)
      shares.push_back(std::pow(double(i + 1), -exponent.getValueAsDouble()));
  }
  double sum = 0;
  for (double &share : shares)
    share = sum += share;
  for (double &share : shares)
    share /= sum;
  return shares;
}

static bool drawIntegers(Array &array, DictionaryAttr assumed, double lo,
                         double hi, RandomNumbers &random) {
  // Beyond, a float does not hold every whole number.
  constexpr double kMost = 0x1p24;
  int64_t first = int64_t(std::ceil(lo)), count = int64_t(hi - lo) + 1;
  if (!(lo >= -kMost && hi <= kMost) || count < 1)
    return false;
  std::vector<double> shares = sharesOf(assumed, count);
  for (float &number : array.numbers) {
    double at = random.uniform();
    int64_t index = shares.empty()
                        ? int64_t(at * double(count))
                        : llvm::upper_bound(shares, at) - shares.begin();
    number = float(first + std::min(index, count - 1));
  }
  return true;
}

static void drawFloats(Array &array, double lo, double hi, double mean,
                       double deviation, RandomNumbers &random) {
  // A declared number is rounded by no more than that.
  constexpr double kTolerance = 0.01;
  auto isAbout = [](double is, double wanted) {
    return std::fabs(is - wanted) <= kTolerance * std::fabs(wanted);
  };
  bool isUniform = isAbout(deviation, (hi - lo) / std::sqrt(12.0)) &&
                   std::fabs(mean - (lo + hi) / 2) <= kTolerance * (hi - lo);
  // No distribution within these bounds varies more than that of two numbers,
  // and no other as much (Bhatia and Davis, 2000).
  bool isBinary = lo < mean && mean < hi &&
                  isAbout(deviation, std::sqrt((mean - lo) * (hi - mean)));
  for (float &number : array.numbers) {
    double drawn = mean;
    if (isBinary)
      drawn = random.uniform() * (hi - lo) < mean - lo ? hi : lo;
    else if (isUniform)
      drawn = lo + (hi - lo) * random.uniform();
    else
      drawn = std::clamp(mean + deviation * random.normal(), lo, hi);
    number = float(drawn);
  }
}

std::optional<Array> mpopt::drawInput(BlockArgument input,
                                      RandomNumbers &random) {
  MaybeShape shape = getShape(input);
  Type type = getElementType(input);
  DictionaryAttr assumed = getAssumption(input);
  if (!shape || llvm::is_contained(*shape, kDynamic) || !assumed || !type)
    return std::nullopt;
  // Elements with bounds of their own are a case that no batch has.
  if (assumed.get("lo_elements") || assumed.get(kMaskKey))
    return std::nullopt;
  auto number = [&](llvm::StringRef key) -> std::optional<double> {
    auto attr = assumed.getAs<FloatAttr>(key);
    return attr ? std::optional(attr.getValueAsDouble()) : std::nullopt;
  };
  std::optional<double> lo = number("lo"), hi = number("hi");
  if (!lo || !hi || !(*lo <= *hi) || !std::isfinite(*lo) || !std::isfinite(*hi))
    return std::nullopt;
  // Larger ones are not worth a draw.
  constexpr int64_t kMost = 1 << 26;
  if (mpopt::sizeOf(*shape) > kMost)
    return std::nullopt;
  Array array = Array::zeros(*shape);
  if (isa<IntegerType>(type)) {
    // A negative class is one that a loss ignores.
    auto function = cast<func::FuncOp>(input.getOwner()->getParentOp());
    if (function.getArgAttr(input.getArgNumber(), kLossTargetAttr))
      lo = std::max(*lo, 0.0);
    if (!drawIntegers(array, assumed, *lo, *hi, random))
      return std::nullopt;
    return array;
  }
  drawFloats(array, *lo, *hi, number("mean").value_or((*lo + *hi) / 2),
             number("std").value_or((*hi - *lo) / std::sqrt(12.0)), random);
  if (assumed.get(kIntegralKey))
    for (float &drawn : array.numbers)
      drawn = std::nearbyint(drawn);
  return array;
}
