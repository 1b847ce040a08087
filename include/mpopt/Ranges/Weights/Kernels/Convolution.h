//===- Convolution.h - Ranges of a convolution with known weights *- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds and estimates per output channel, from those per input channel; or per
// element of small maps. The taps that lie inside the input differ between
// positions (at padded borders, between the phases of a transposed
// convolution): the bound is the hull over the sets of taps that occur, not
// over all subsets.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_CONVOLUTION_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_CONVOLUTION_H

#include "mpopt/Ranges/Weights/Kernels/Linear.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpopt {

struct ConvolutionAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  /// Numbers of zeros around the input; for a transposed convolution, of
  /// positions cut off from the result.
  int64_t padBegin = 0, padEnd = 0;
  /// Positions past the last one that a tap of a transposed convolution
  /// reaches.
  int64_t outputPadding = 0;
  /// Negative if unknown.
  int64_t inputSize = -1;

  /// Negative if unknown, or too large to compute with.
  int64_t outputSize(bool transposed) const;
  /// The input index that `tap` reads at output index `position`, if it lies
  /// inside.
  std::optional<int64_t> input(int64_t position, int64_t tap,
                               bool transposed) const;
};

struct ConvolutionRequest {
  /// [outputs, inputs / groups, kernel...], or if `transposed`
  /// [inputs, outputs / groups, kernel...].
  WeightTensor weights;
  uint64_t outputs = 0, inputs = 0, groups = 1;
  bool transposed = false;
  llvm::SmallVector<ConvolutionAxis, 3> axes;
  /// The input, with one entry for all, or one per input channel; per element
  /// of the input map [inputs, size...] for `convolutionElements`.
  LinearInputs values;

  uint64_t taps() const;
  /// The largest number of terms of a sum.
  uint64_t terms() const { return inputs / groups * taps(); }
};

/// The sums of a convolution. Lists have an entry per output channel;
/// `operatorNorm` is empty. The likely part is that of positions inside, its
/// mean and variance those of all positions where many are at a border; the
/// phases of a transposed convolution are a mixture of equal parts.
LinearSums convolutionSums(const ConvolutionRequest &request);

/// The sums of a convolution of which all sizes are known. Lists have an entry
/// per element of the output map [outputs, size...]. Takes outputs * positions
/// * terms() steps: for small maps.
LinearSums convolutionElements(const ConvolutionRequest &request);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_CONVOLUTION_H
