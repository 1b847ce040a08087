//===- Against.h - Two runs of one model side by side -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both runs have seen the same batches with the same weights. Rounding then
// moves each element by about a unit roundoff of the narrowest format on the
// way for each layer there, at random, so that sizes and means of whole tensors
// move by less. What moves further has another cause: one that is as large
// everywhere shows in sizes and means, others, as channels that are swapped, in
// random sums of the elements, which a monitor keeps of a few steps.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_AGAINST_H
#define MPOPT_INSTRUMENT_AGAINST_H

#include "mpopt/Instrument/Ledger.h"
#include "mpopt/Instrument/RunRecords.h"

namespace mpopt {

/// The observations of one tensor in two runs.
struct RunDifference {
  /// By id in the plan of the first run.
  int64_t probe = 0;
  uint32_t kind = MPOPT_VALUE;
  std::string dtypes[2];
  double rootMeanSquares[2] = {};
  /// The largest one of the differences of root mean square, of mean and of
  /// the elements, in root mean square, of the root mean square of the first
  /// run; Inf where one run held NaN or Inf and the other did not. Of a
  /// parameter's gradient of that of its layer's gradients: of one that cancels
  /// nothing but rounding is left.
  double difference = 0;
  /// That of the elements, a lower bound; nothing if it was not recorded.
  std::optional<double> elements;
  /// The unit roundoff of the narrower of the two formats.
  double roundoff = 0;
  /// The most that is ever explained of a gradient.
  double mostOfGradient = 0;
  /// The most that the formats explain.
  double explained = 0;
  /// The first step that the first run recorded.
  std::optional<uint64_t> step;

  bool isExplained() const { return difference <= explained; }
};

/// Tensors by name, of each kind of record in the order in which the first run
/// computed them: gradients against that of the plan, others in that of the
/// plan where the run does not say.
struct RunComparison {
  /// Number of files of the second run.
  size_t files = 0;
  std::vector<RunDifference> differences;

  struct Incomparable {
    std::string tensor;
    uint32_t kind;
    std::string why;
  };
  std::vector<Incomparable> incomparable;

  /// The first difference of the kind that formats do not explain; null if
  /// there is none.
  const RunDifference *findFirst(uint32_t kind) const;
};

/// `value`, `gradient`, `parameter`, `optimizer`, `scalar`.
llvm::StringRef getKindName(uint32_t kind);

RunComparison compareRuns(const ProbePlan &plan, const RunRecords &runs,
                          const ProbePlan &otherPlan, const RunRecords &others);

/// The difference as a sentence about the tensor `name`.
std::string describeDifference(const RunDifference &difference,
                               llvm::StringRef name);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_AGAINST_H
