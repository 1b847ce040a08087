//===- RecurrentGradient.h - Gradients that leave a cell --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimates of the gradients of input, weights, biases and states, of a
// sequence or a single step: sums over steps and samples of products of what is
// passed back through the gates.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_OPS_RECURRENTGRADIENT_H
#define MPOPT_LIB_GRADIENTS_OPS_RECURRENTGRADIENT_H

#include "RecurrentGates.h"

#include "mpopt/Gradients/BackwardSpreadContext.h"

namespace mpopt {

/// The operands that have gradients, of any cell.
enum class RecurrentPart : uint8_t {
  Input,
  InputWeights,
  StateWeights,
  Bias,
  InputBias,
  StateBias,
  Hidden,
  Kept,
  Other
};

/// Sizes and layout of a sequence; a single step has no axis of time.
struct RecurrentLayout {
  int64_t steps = 1, batch = 1;
  int timeAxis = -1, batchAxis = 0;
  bool startsAtZero = false, keptIsHidden = false;
};

/// The estimates of the gradients that one op has, from what each of its
/// directions passes back.
class RecurrentGradient {
public:
  RecurrentGradient(BackwardSpreadContext &ctx, mlir::Value input,
                    RecurrentLayout layout)
      : ctx(ctx), input(input), layout(layout) {}

  /// Passes one direction back.
  void add(const CellModel &cell, const CellFactors &factors,
           llvm::ArrayRef<TimeMoments> arriving, const TimeMoments &lastHidden,
           const TimeMoments &lastKept, bool reversed);
  void give(unsigned index, RecurrentPart part);

private:
  struct Direction {
    PassedBack passed;
    cells::Moments input, hidden;
    bool reversed;
  };

  void giveInput(unsigned index);
  /// The sums over the batch of a row's gradients times `columns` numbers.
  void giveWeights(unsigned index, bool ofState);
  void giveBias(unsigned index, RecurrentPart part);
  void giveState(unsigned index, bool kept);
  void giveCells(unsigned index, AbstractValue::Dims dims,
                 llvm::ArrayRef<Moments> moments, const Spread &spread,
                 double terms);
  Moments columnOf(const cells::Moments &from, size_t column) const;

  BackwardSpreadContext &ctx;
  mlir::Value input;
  RecurrentLayout layout;
  std::vector<Direction> directions;
  /// The gates of a step, in all directions, that are expected not to be
  /// saturated, if there are any gates.
  double open = 0;
};

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_OPS_RECURRENTGRADIENT_H
