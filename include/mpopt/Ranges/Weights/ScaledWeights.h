//===- ScaledWeights.h - Weights as products read them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_WEIGHTS_SCALEDWEIGHTS_H
#define MPOPT_RANGES_WEIGHTS_SCALEDWEIGHTS_H

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <vector>

namespace mpopt {

/// The elements of a constant operand, and the format of each of its groups.
class ScaledWeights {
public:
  /// Nothing for other operands, for constants that are computed, and for more
  /// than `kMostRead` elements.
  static std::optional<ScaledWeights> of(const ScaledOperand &operand,
                                         TransferContext &ctx);

  /// In the order of the axes of `shape()`, which is that of the operand, or
  /// (`isSwapped`) with its last two axes swapped.
  const std::vector<double> &values() const { return elements; }
  llvm::ArrayRef<int64_t> shape() const { return dims; }
  bool isSwapped() const { return swapped; }
  const OperandLayout &layout() const { return parts; }
  const StorageFormat &formatOf(size_t element) const {
    return formats[groups.empty() ? 0 : groups[element]];
  }
  /// Those of the groups: batches, then rows, then along these.
  std::vector<double> scales() const;
  /// The share of the groups all of whose elements are 0.
  double zeroGroups() const { return zeros; }
  /// By how much storing makes an element larger at the most.
  double growth() const;

private:
  /// All are read: a hundred million elements take a second.
  static constexpr int64_t kMostRead = 1 << 26;

  /// The indices of the axes with that part.
  int64_t countOf(AxisPart part) const;
  void group(const OperandScaling &scaling);

  std::vector<double> elements;
  Shape dims;
  bool swapped = false;
  OperandLayout parts;
  std::vector<uint32_t> groups;
  std::vector<StorageFormat> formats;
  double zeros = 0;
};

/// Static scales are chosen later: so many bits above what the bound asks for
/// at the most.
inline constexpr int kMostHeadroom = 8;

/// How much larger, at the most, a group of elements of an operand becomes by
/// being stored: multiplied by the factor, and by so much of the tensor's
/// largest magnitude.
struct StorageGrowth {
  double factor = 1, ofLargest = 0;
};
StorageGrowth growthOf(const OperandScaling &scaling, bool isStatic);

/// The range of an operand as a product reads it, whatever scales come to be
/// chosen: none moves an element by more than half a step of the largest scale,
/// and past the end it is clipped. The other operand's growth, which a constant
/// has that products read as it is, counts here.
AbstractValue storedRange(const ScaledOperand &operand,
                          const AbstractValue &exact, TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_SCALEDWEIGHTS_H
