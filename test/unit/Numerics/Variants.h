//===- Variants.h - Functions with numbers to try them with -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TEST_UNIT_NUMERICS_VARIANTS_H
#define MPOPT_TEST_UNIT_NUMERICS_VARIANTS_H

#include "mpopt/Numerics/FunctionTable.h"

#include <vector>

namespace mpopt {

/// Each function with its usual numbers and with awkward ones.
inline std::vector<Unary> getVariants(UnaryFunction function) {
  constexpr double none = kInfinity;
  auto is = [&](auto... names) {
    return ((function.row().name == names) || ...);
  };
  if (is("LeakyRelu"))
    return {{function, 0.01}, {function, -0.3}, {function, 2}};
  if (is("ThresholdedRelu"))
    return {{function, 1}, {function, -2.1}};
  if (is("HardSigmoid"))
    return {{function, 0.2, 0.5}, {function, -1.7, 0.1}};
  if (is("HardTanh"))
    return {{function, -1, 1}, {function, 0.3, 5}, {function, -0.1, 6}};
  if (is("Shrink"))
    return {{function, 0.5, 0}, {function, 0.7, 0.7}, {function, 1, -2}};
  if (is("Elu", "Celu"))
    return {{function, 1}, {function, 0.4}, {function, -1.5}};
  if (is("Selu"))
    return {{function, 1.6732632423543772, 1.0507009873554805}};
  if (is("Softplus"))
    return {{function, 1, 0, none}, {function, 1, 0, 20}, {function, 3, 0, 2}};
  if (is("Silu"))
    return {{function, 1}, {function, -2}, {function, 0.3}};
  if (is("QuickGelu"))
    return {{function, 1.702}};
  return {{function}};
}

} // namespace mpopt

#endif // MPOPT_TEST_UNIT_NUMERICS_VARIANTS_H
