//===- ProductReport.h - Products of operands with scales -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: `fp8` and `sensitivity` of the JSON report (docs/fp8.md).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_PRODUCTREPORT_H
#define MPOPT_REPORT_PRODUCTREPORT_H

#include "mpopt/Report/OpRef.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

struct ProductReport {
  struct Operand {
    std::string tensor;
    bool isConstant = false;
    /// Shares of the non-zero elements past the last number, and of those that
    /// are read as 0.
    double clipped = 0, flushed = 0;
  };

  OpRef op;
  /// The tensor that it makes.
  std::string output;
  /// The signal-to-noise ratio of the product by the errors of its operands;
  /// NaN if it is not known.
  double decibels = std::numeric_limits<double>::quiet_NaN();
  /// The root mean square error, and the largest one, of the output that this
  /// product alone moves most; NaN if one is not known.
  double rms = std::numeric_limits<double>::quiet_NaN(), error = rms;
  std::array<Operand, 2> operands;
};

/// The scale with which a tensor's elements are stored: x is read as scale
/// times the format's number nearest to x / scale.
struct TensorScale {
  std::string tensor;
  /// One, or one for each column of the product.
  std::vector<double> scales;
  bool isProved = false, isConstant = false;
  /// Bits between the largest expected magnitude and the last number.
  double headroom = 0;
  /// The signal-to-noise ratio of the stored elements.
  double decibels = 0;
};

/// Demands on scales beside the least error.
struct ScaleRequest {
  /// Bits above those of the least error.
  int headroom = 0;
  bool powersOfTwo = false;
};

struct ScalingReport {
  /// True for floats, whose products are described; integers have a ranking.
  bool ofFloats = false;
  std::string recipe;
  std::vector<ProductReport> products;
  /// The error that is aimed at, and the cheapest recipe that stays below it;
  /// nothing if none does. `compared`: they were looked at.
  double aim = 0;
  bool compared = false;
  std::optional<std::string> cheapest;
  /// Indices of the products to keep in FP32 for it; nothing if an error is not
  /// known.
  std::optional<std::vector<size_t>> keep;
};

} // namespace mpopt

#endif // MPOPT_REPORT_PRODUCTREPORT_H
