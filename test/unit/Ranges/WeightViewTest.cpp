//===- WeightViewTest.cpp - Elements of constants as numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace mpopt;

/// Floats of all exponents, with ties of 11 and of 8 bits, and their signs.
static std::vector<float> makeFloats(int least, int most) {
  std::vector<float> values = {0.0f, -0.0f};
  for (int exponent = least; exponent <= most; ++exponent)
    for (double part :
         {1.0, 1 + 0x1p-11, 1 + 0x1p-10, 1 + 3 * 0x1p-11, 1 + 0x1p-8,
          1 + 3 * 0x1p-8, 1.3, 2 - 0x1p-12, 2 - 0x1p-23})
      for (double sign : {1.0, -1.0})
        values.push_back(float(std::ldexp(sign * part, exponent)));
  return values;
}

static void expectRounded(ArrayRef<float> values, const FloatFormat &format) {
  MLIRContext context;
  WeightView view;
  view.data = {reinterpret_cast<const char *>(values.data()),
               values.size() * sizeof(float)};
  view.elementType = Float32Type::get(&context);
  view.shape = {int64_t(values.size())};
  view.roundings = {&format};
  std::vector<double> all(values.size());
  view.read(0, all);
  for (auto [index, value] : llvm::enumerate(values)) {
    double rounded = format.round(value), one = 0;
    view.read(int64_t(index), one);
    for (double read : {all[index], one})
      EXPECT_TRUE(std::isnan(rounded) ? std::isnan(read) : read == rounded)
          << value << " in " << format.name.str() << " is " << rounded
          << ", not " << read;
  }
}

// Many elements are read by vector code: it does what one does.
TEST(WeightView, RoundsManyAsOne) {
  for (const FloatFormat *format : {&FloatFormat::f16(), &FloatFormat::bf16()})
    expectRounded(makeFloats(-149, 14), *format);
}

TEST(WeightView, RoundsWhatOverflows) {
  std::vector<float> values = makeFloats(-30, 126);
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  for (const FloatFormat *format : {&FloatFormat::f16(), &FloatFormat::bf16()})
    expectRounded(values, *format);
}
