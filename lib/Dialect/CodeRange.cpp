//===- CodeRange.cpp - The numbers of a quantised type
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/CodeRange.h"

#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/FloatFormat.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

std::optional<std::pair<double, double>> mpopt::getCodeRange(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    int width = int(integer.getWidth());
    if (integer.isUnsigned())
      return std::pair(0.0, std::ldexp(1.0, width) - 1);
    return std::pair(-std::ldexp(1.0, width - 1),
                     std::ldexp(1.0, width - 1) - 1);
  }
  if (const FloatFormat *format = getFloatFormat(type))
    return std::pair(-format->maxFinite, format->maxFinite);
  return std::nullopt;
}
