//===- QuantizationErrors.h - The error of quantising a tensor --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that the file has in codes is judged by what they change of the same
// graph without them: rounding to the nearest number that a code stands for,
// and clipping at the ends. The errors of activations follow from the range
// that is expected of them. Those of weights, of which the file has the codes
// alone, are even within half a step.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_QUANTIZATIONERRORS_H
#define MPOPT_PROPAGATE_QUANTIZATIONERRORS_H

#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <optional>

namespace mpopt {

struct StorageFormat;
namespace mp {
class DequantizeOp;
class PadOp;
class QuantizeOp;
} // namespace mp

/// The difference that quantising makes to the elements of a tensor, in units
/// of the numbers for which codes stand.
struct QuantizationError {
  /// Mean and variance, by group; without an estimate if it is not known.
  AbstractValue error;
  /// The share of its mean square that clipping at the ends causes.
  double clipped = 0;
  bool isOfWeights = false;
  /// The numbers that have the error, where the op gives codes; else null.
  mlir::Value place = {};
  /// The share of the square by numbers that a calibration does not meet.
  double unseen = 0;
  /// Of errors of few elements, those of `unseen` or of pairs, the number that
  /// is expected in a run, those of one row counted once; 0 of all others.
  double hits = 0;
};

/// Set on an op to try a fix: errors are those of the op after the fix. The
/// values are below.
inline constexpr llvm::StringLiteral kTriedFixAttr = "mp.tried_fix";
/// On an op that quantises or dequantises: its numbers stay floats.
inline constexpr llvm::StringLiteral kTriedFloats = "floats";
/// On an op that quantises: its scale is that of the expected range, in its own
/// codes or in 16 bits.
inline constexpr llvm::StringLiteral kTriedRange = "expected range";
inline constexpr llvm::StringLiteral kTriedWide = "16 bits";
/// On an op that dequantises a weight: one scale for each channel.
inline constexpr llvm::StringLiteral kTriedChannels = "by channel";
/// On an op that dequantises a weight and on the product: weights of 7 bits,
/// whose pairs no kernel saturates.
inline constexpr llvm::StringLiteral kTriedReducedRange = "7 bits";

/// On an op that dequantises: it reads what was written.
inline constexpr llvm::StringLiteral kTriedWritten = "as written";

/// The codes of an op that quantises, with the scale and the zero point by
/// which they span the expected range; nothing if that is not known.
/// `isWide`: 16 bits.
std::optional<StorageFormat> spanExpected(mp::QuantizeOp op, bool isWide,
                                          const RangeAnalysis &ranges);

/// Codes with a border of the code 0, which stands for another number: the
/// numbers that are read, their scale, and the zero point.
struct WrongBorder {
  mlir::Value numbers, scale, zeroPoint;
  double zero;
};
std::optional<WrongBorder> findWrongBorder(mp::PadOp op);

/// The axis of output channels of a weight, or of rows of a table, that has one
/// scale for all of them.
std::optional<int64_t> findSharedAxis(mp::DequantizeOp op);

class QuantizationErrors {
public:
  explicit QuantizationErrors(const RangeAnalysis &ranges) : ranges(ranges) {}

  /// True if the value's model is judged by its quantisation: it has codes, and
  /// is taken as it is, not as what a precision makes of it.
  bool judges(mlir::Value value);

  /// The error by the quantisation in the op that makes `value`: codes of
  /// numbers, numbers that stand for codes of the file, or products with those;
  /// and the loss of the target's kernels in sums of products. Nothing for
  /// other values, where the numbers are those of codes already, and in a model
  /// that is not judged by its quantisation. `dims`: the groups asked for;
  /// only those of weights with scales can be told apart as one likes.
  std::optional<QuantizationError> errorOf(mlir::Value value,
                                           llvm::ArrayRef<int64_t> dims = {});

private:
  bool expectsUnseen(mlir::Value value);

  const RangeAnalysis &ranges;
  std::optional<bool> isJudged, isUnseenExpected;
};

/// True if each element of `x` is a number that a code of `grid`'s scale and
/// zero point stands for: ops that only move and pick elements are looked
/// through.
bool isOnGrid(mlir::Value x, mp::QuantizeOp grid);

/// True if the zero point is the least code, so that clipping `x` at 0 is a
/// rectifier: quantisers leave out those that it replaces. Not of inputs,
/// weights and numbers that codes stand for, in front of which none stands.
bool rectifies(mlir::Value x, mlir::Value zeroPoint,
               const StorageFormat &format);

/// The deviation of normal numbers, of the magnitude at which both sides are
/// clipped, whose mean square is `ratio` of that one's square then; 0 where
/// that is no more than of numbers that nothing clips.
double deviationBeforeClipping(double ratio);

/// The mean square of normal numbers of that deviation, clipped at -1 and 1.
double clippedSquare(double deviation);

/// The same of the weights of which the file has the codes that the op reads.
double reachBeforeClipping(mp::DequantizeOp op, const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_QUANTIZATIONERRORS_H
