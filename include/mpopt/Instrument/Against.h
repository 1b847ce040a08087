//===- Against.h - Two runs of one model side by side -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both runs have seen the same batches with the same weights. Rounding then
// moves each element by about a unit roundoff of the narrower format for each
// layer on the way, at random, so that sizes and means of whole tensors move by
// less. What moves further has another cause.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_AGAINST_H
#define MPOPT_INSTRUMENT_AGAINST_H

#include "mpopt/Instrument/Ledger.h"
#include "mpopt/Instrument/RunRecords.h"

namespace mpopt {

/// What two runs saw of one tensor.
struct RunDifference {
  /// By id in the plan of the first run.
  int64_t probe = 0;
  uint32_t kind = MPOPT_VALUE;
  std::string dtypes[2];
  double rootMeanSquares[2] = {};
  /// The larger one of the differences of root mean square and of mean, of the
  /// root mean square of the first run; Inf where one run held NaN or Inf and
  /// the other did not.
  double difference = 0;
  /// The most that the formats explain.
  double explained = 0;
  /// The first step that the first run recorded.
  std::optional<uint64_t> step;

  bool isExplained() const { return difference <= explained; }
};

/// Tensors by name, of each kind of record in the order in which the first run
/// computed them, or in that of its plan where it does not say.
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
