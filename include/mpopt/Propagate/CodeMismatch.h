//===- CodeMismatch.h - Codes read otherwise than written -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_CODEMISMATCH_H
#define MPOPT_PROPAGATE_CODEMISMATCH_H

#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <optional>
#include <utility>
#include <vector>

namespace mpopt {

/// The elements of a constant, or of a product of one with a constant number,
/// as the scale of QLinearConv's bias; of null one that is 0. Nothing for other
/// values and more than `kMostElements`.
std::optional<std::vector<double>> readElements(mlir::Value value,
                                                const RangeAnalysis &ranges);
/// The scales of a weight of 4 bits in blocks are as many; a bound on time.
inline constexpr int64_t kMostElements = 1 << 22;

/// The op that makes the codes; null where the file has them.
mp::QuantizeOp findWriter(mp::DequantizeOp op);

/// Two numbers that should be one: as written, and as read.
using Mismatch = std::pair<double, double>;
struct PairMismatches {
  std::optional<Mismatch> scale, zeroPoint;
  explicit operator bool() const { return scale || zeroPoint; }
};
/// The first elements in which scales and zero points differ.
PairMismatches findMismatch(mp::DequantizeOp op, mp::QuantizeOp from,
                            const RangeAnalysis &ranges);

/// A bias of 32 bits whose numbers are not those that an integer kernel adds.
struct BiasMismatch {
  /// The scales of the sum, one or one for each channel; empty where they are
  /// its own.
  std::vector<double> unit = {};
  /// The first scale that differs from the product, and the product.
  std::optional<Mismatch> scale = {};
  bool hasZeroPoint = false;
};
/// Nothing too where no sum of products adds it.
std::optional<BiasMismatch> findBiasMismatch(mp::DequantizeOp bias,
                                             const RangeAnalysis &ranges);

/// The numbers of a bias that is read in a unit that is too large, with an
/// offset, or with codes at the ends of 32 bits; empty for others. Biases are
/// no larger than the sums to which they are added: the smaller number is the
/// likelier one. Where the unit of the sum is the smaller one it may be that of
/// the weight which is wrong, and clips it then. A channel whose bias does not
/// fit has weights as good as 0 and no other number: it is as large as those of
/// the other channels.
std::vector<double> findExactBias(mp::DequantizeOp numbers,
                                  const RangeAnalysis &ranges);

/// The op that adds the numbers to the sum of products that it computes; null
/// if there is none.
mlir::Operation *findBiasedSum(mp::DequantizeOp bias);

/// True of a code of a bias that 32 bits do not hold.
inline bool isClippedBias(double code) {
  return code >= 0x1p31 - 1 || code <= -0x1p31;
}

} // namespace mpopt

#endif // MPOPT_PROPAGATE_CODEMISMATCH_H
