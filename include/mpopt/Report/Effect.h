//===- Effect.h - What a precision does to an output
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data: the `effects` of the JSON report and the `effect` of a finding
// (docs/json.md).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_EFFECT_H
#define MPOPT_REPORT_EFFECT_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Report/OpRef.h"

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpopt {

/// The causes of a quantisation's error: codes of weights, steps between codes
/// of activations, and the ends of these.
enum class QuantizationCause { Weights, Activations, Saturation };
inline constexpr std::array<llvm::StringLiteral, 3> kQuantizationCauses = {
    "weights", "activations", "saturation"};
/// A number for each of them.
using ByCause = std::array<double, kQuantizationCauses.size()>;

/// The part of one finding in an output's error.
struct FindingEffect {
  std::string output;
  /// A part of the output's largest magnitude; infinite if it makes the output
  /// Inf or NaN.
  double error = 0;
};

/// The elements from `from` to `to` along `axis` of an output that joins unlike
/// blocks, and their largest error of their own largest magnitude.
struct EffectSlice {
  std::int64_t from = 0, to = 0, axis = 0;
  double error = 0;
};

/// One float output.
struct EffectReport {
  std::string output;
  /// Largest error of the largest magnitude, and root mean square of root mean
  /// square; infinite if Inf or NaN is expected, NaN if it is not known.
  double error = 0, rms = 0;
  /// Why they are not known: a clause that ends a sentence; may be empty.
  std::string unknown;
  /// The integer input whose numbers would have to be declared to know them;
  /// may be empty.
  std::string undeclared;
  /// The op at which the estimate ends.
  std::optional<OpRef> stop;
  /// The tensors that cause most, each with its share of the squared error.
  struct Tensor {
    std::string tensor;
    double share = 0;
  };
  std::vector<Tensor> tensors;
  /// The findings that cause most, by fingerprint.
  struct Cause {
    std::string fingerprint;
    double share = 0;
  };
  std::vector<Cause> causes;
  /// The error by quantising weights, by quantising activations and by clipping
  /// these, each alone; nothing if the model is not quantised.
  std::optional<ByCause> byCause;
  /// Those of a quantised model's output that a concatenation makes, of which
  /// the largest error is the output's.
  std::vector<EffectSlice> slices;
  /// The sizes of open dims with which that is so, by name; empty if it does
  /// not depend on them.
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  /// How bad that is: 0 fine, 1 past the threshold of warnings, 2 of errors.
  int level = 0;
};

/// The causes that matter, with their errors: `activations 8 %, weights 3 %`.
std::string describeCauses(const ByCause &byCause);

/// Declarations of inputs that were tried because an effect is not known, by
/// which more is.
struct TriedInputs {
  /// Each input that is needed, with the least and the largest value.
  std::vector<std::pair<std::string, Interval>> inputs;
  /// The output of the largest error then.
  EffectReport worst;
  /// Effects that are not known even then.
  unsigned open = 0;
};

/// An output of integers or truth values about which floats decide.
struct DecisionReport {
  std::string output;
  /// `integers` or `truth values`.
  std::string elements;
  /// The share that is expected to change; NaN if it is not known.
  double share = 0;
  /// The tensor by whose errors they change that are not known; may be empty.
  std::string unknown;
  /// How bad that is, as of an effect.
  int level = 0;
};

} // namespace mpopt

#endif // MPOPT_REPORT_EFFECT_H
