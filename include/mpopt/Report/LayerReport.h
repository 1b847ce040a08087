//===- LayerReport.h - Layers of a step in FP8 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: `training.fp8` of the JSON report (docs/fp8.md).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_LAYERREPORT_H
#define MPOPT_REPORT_LAYERREPORT_H

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Report/OpRef.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

struct LayerReport {
  struct Operand {
    /// x, w or dy.
    llvm::StringLiteral role = "";
    /// Shares of the non-zero elements past the last number, and of those that
    /// are read as 0; of the groups with one scale those that are all zeros.
    double clipped = 0, flushed = 0, zero = 0;
  };
  struct Product {
    llvm::StringLiteral name = "";
    /// Signal to noise; NaN if it is not known.
    double decibels = std::numeric_limits<double>::quiet_NaN();
    std::array<Operand, 2> operands;
    /// False if it would be computed only if something in front learnt.
    bool isComputed = true;
  };

  OpRef op;
  std::string output, weight, module;
  /// The largest magnitude of the weight; infinite if it is not known.
  double weightMax = kInfinity;
  int64_t m = -1, k = -1, n = -1;
  /// Stays in BF16, as the configuration says.
  bool kept = false;
  /// The sizes suit the recipe.
  bool fits = true;
  /// The largest error of a gradient if this layer alone is in FP8; NaN if it
  /// is not known.
  double effect = std::numeric_limits<double>::quiet_NaN();
  std::vector<Product> products;
};

struct Fp8Report {
  struct Choice {
    double aim;
    std::string device;
    /// The cheapest recipe; nothing if none keeps all gradients within the aim.
    std::optional<std::string> recipe;
  };
  struct Kept {
    double aim;
    /// Indices of layers to keep in BF16; nothing if that does not do, or an
    /// error is not known.
    std::optional<std::vector<size_t>> layers;
  };

  std::string recipe;
  /// The figures are those of a step that was evaluated on drawn inputs.
  bool isSampled = false;
  std::vector<LayerReport> layers;
  std::vector<Choice> recommended;
  std::vector<Kept> keep;
};

/// Writes the members of `training.fp8`.
void writeLayers(llvm::json::OStream &json, const Fp8Report &report);

} // namespace mpopt

#endif // MPOPT_REPORT_LAYERREPORT_H
