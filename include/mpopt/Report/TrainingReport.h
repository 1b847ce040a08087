//===- TrainingReport.h - The gradients of a training step ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of gradients as plain data. All are of the gradient of the unscaled
// loss, over one batch; scales are exponents of two.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_TRAININGREPORT_H
#define MPOPT_REPORT_TRAININGREPORT_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Report/LayerReport.h"
#include "mpopt/Report/MemoryReport.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

struct GradientReport {
  /// The parameter, or the tensor, whose gradient it is.
  std::string name;
  /// The dtype in which it is computed (of a cast weight: the narrow one).
  std::string dtype;
  /// Negative dims are unknown.
  std::vector<int64_t> shape;
  /// False: an op on the way has no estimate, and the numbers mean nothing.
  bool known = false;
  /// Root mean square with zeros, largest magnitude, share of exact zeros.
  double rms = 0, absMax = 0, zero = 0;
  /// The shares of the others that are 0 as stored at the loss scales 1 and
  /// 2^16.
  double lostUnscaled = 0, lostUsual = 0;
  /// The root mean square error by all roundings of the step, of the gradient's
  /// root mean square, at the loss scale in use. Nothing: not known.
  std::optional<double> error;
  /// Shares of the non-zero elements with 2^e <= |g| < 2^(e+1), by e.
  std::map<int, double> sizes;
  /// The bound for every batch as assumed; infinite where none is known.
  Interval bound;
};

/// The first step of a parameter, where an optimizer is declared.
struct UpdateReport {
  std::string parameter;
  /// The change of a weight where the gradient has its root mean square.
  double size = 0;
  /// The shares of the elements that stay as they are in weights of FP16 and
  /// BF16.
  double lostF16 = 0, lostBF16 = 0;
};

struct ScaleReport {
  /// The window of loss scales; no `lo`: there is none, no `hi`: nothing
  /// overflows.
  std::optional<int> lo, hi;
  std::optional<double> recommended;
  /// The tensors that overflow above the top and lose most below the bottom;
  /// may be empty.
  std::string top, topDtype, bottom;
  /// The share of all elements that is lost at the bottom less one power of
  /// two, and at any scale.
  double lostBelow = 0, floor = 0;
  /// A gradient is computed in a format that needs a scale.
  bool needed = false;
};

/// A setting of the training step, and its source.
struct StepSetting {
  std::string name; ///< `optimizer`, `batch`, `clipping`, `scaler` or `reduce`.
  std::string value;  ///< `adamw, lr 0.0003`.
  std::string source; ///< `options` or the name of a file.
};

struct TrainingReport {
  std::vector<std::string> loss;
  std::vector<StepSetting> settings;
  ScaleReport scale;
  std::vector<GradientReport> parameters;
  /// Updates of the parameters whose weights and gradients are known.
  std::vector<UpdateReport> updates;
  /// Gradients of tensors between them.
  std::vector<GradientReport> tensors;
  /// Names of parameters: exactly 0; far smaller and far larger than the last
  /// weight's; with Inf or NaN at the loss scale 2^16.
  std::vector<std::string> dead, vanishing, exploding, overflowing;
  /// Results of rectifiers half of whose units are never positive.
  std::vector<std::string> deadUnits;
  /// The loss itself overflows.
  bool forwardOverflows = false;
  /// Only of products in FP8.
  std::optional<Fp8Report> fp8;
  /// Only with `--memory`.
  std::optional<MemoryReport> memory;
};

} // namespace mpopt

#endif // MPOPT_REPORT_TRAININGREPORT_H
