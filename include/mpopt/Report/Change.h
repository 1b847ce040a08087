//===- Change.h - Fixes as changes of a file --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_CHANGE_H
#define MPOPT_REPORT_CHANGE_H

#include "mpopt/Numerics/Infinity.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace mpopt {

/// Limits of magnitudes, beside 0 and NaN.
struct MagnitudeLimits {
  double least = 0, most = kInfinity;

  double apply(double number) const {
    return number == 0 || std::isnan(number)
               ? number
               : std::copysign(std::clamp(std::fabs(number), least, most),
                               number);
  }
};

/// A tried fix of a finding that changes the elements of a constant.
struct ConstantChange {
  /// The model's name of the constant.
  std::string tensor;
  MagnitudeLimits limits;
  /// The rule of the finding, the op that has it, and the fix in words.
  std::string rule, op, text;
  /// As Fix::safe.
  bool safe = false;
};

} // namespace mpopt

#endif // MPOPT_REPORT_CHANGE_H
