//===- Zeros.h - How sure it is that a value is stored as zero --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_HAZARDS_ZEROS_H
#define MPOPT_HAZARDS_ZEROS_H

#include "mpopt/Hazards/RangeSupport.h"

#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <limits>
#include <optional>

namespace mpopt {

namespace mp {
class GatherGradOp;
} // namespace mp

/// The certainty with which some element of `value`, as stored, is 0; nothing
/// if none can be, or if nothing is known. A range that contains 0 makes it
/// possible. It is likely only behind an op that makes exact zeros, or by a
/// flush, since a continuous value does not meet a single number.
std::optional<Certainty> mayBeZero(mlir::Value value,
                                   const RangeAnalysis &ranges);

/// True if `value` can be 0 only by rounding to its dtype.
bool isZeroByRounding(mlir::Value value, const RangeAnalysis &ranges);

/// The ops by which `value` is computed of a table's numbers, if their
/// roundings alone make it 0 for one that is read: 1 - a of a schedule that
/// begins next to 1. Each number of a table is read sooner or later. None for
/// others.
llvm::SmallVector<mlir::Operation *, 4>
findLostOfTable(mlir::Value value, const RangeAnalysis &ranges);

/// True if every element is 0 for a sample of zeros, silence or a black image:
/// if every input is 0 that is no mask of integers. A value that is read in a
/// body is not looked at.
bool isZeroForZeros(mlir::Value value);

/// True if no element is 0 for a sample of zeros, as far as constants that are
/// added and multiplied tell: squares of scales that a bias keeps off 0.
bool isNonZeroForZeros(mlir::Value value, unsigned depth = 16);

/// True if the value is a sum, length or variance of rows of which one is 0
/// altogether: of padding, of a masked position, or a table's row of zeros.
bool sumsZeroRow(mlir::Value value, const ShapeFacts &shapes);

/// The same of rows that are 0 whichever elements a mask leaves: it chooses
/// none within a row.
bool sumsWholeZeroRow(mlir::Value value, const ShapeFacts &shapes);

/// The share of runs of positions that are padding altogether, which ends
/// samples of `length` positions: a run of many reaches beyond it.
double shareOfPaddedRuns(double share, double run, double length);

/// The expected shares of rows along the last axis that are 0 altogether, or of
/// `run` rows next to each other.
class ZeroRowShare {
public:
  /// All rows of a matrix are one run.
  static constexpr int64_t kWhole = std::numeric_limits<int64_t>::max();
  /// `seed`: the share that is known of a value without its maker; null for
  /// none. `padding`: the share of positions whose targets the loss ignores, as
  /// declared. A token that the model masks is padding, which no loss counts.
  ZeroRowShare(const RangeAnalysis &ranges, int64_t run,
               std::optional<double> padding,
               std::function<double(mlir::Value)> seed = nullptr)
      : ranges(ranges), run(run), padding(padding), seed(std::move(seed)) {}

  double of(mlir::Value value);

private:
  double compute(mlir::Operation *op, mlir::Value value);
  double ofProduct(mlir::Operation *op);
  double ofUnread(mp::GatherGradOp gather, mlir::Value value);
  double ofFactors(mlir::Operation *op, mlir::Value value);
  double leastOf(mlir::ValueRange values);

  const RangeAnalysis &ranges;
  int64_t run;
  std::optional<double> padding;
  std::function<double(mlir::Value)> seed;
  unsigned depth = 0;
  llvm::DenseMap<mlir::Value, double> known;
};

/// True if nothing is known of the value; rules then do not report what may
/// follow from it.
bool isUnknown(mlir::Value value, const RangeAnalysis &ranges);

/// "0 for every input", "likely 0", "may be 0".
std::string describeZero(mlir::Value value, Certainty certainty,
                         const RangeAnalysis &ranges);

/// Lets a run decide the finding by zeros of `value`, and of a tensor that is
/// zero wherever `value` is: the sum below a root may flush to zero where the
/// root itself, in a wider dtype, does not.
void watchZeros(FindingBuilder &finding, mlir::Value value,
                llvm::StringRef part);

} // namespace mpopt

#endif // MPOPT_HAZARDS_ZEROS_H
