//===- RecurrentEstimate.h - Expected states of recurrent cells -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mean and variance of each unit's state, step by step with the actual weights:
// trained biases and weights give every unit a mean of its own, and a layer
// behind that sums those means. Inputs of different steps and the states of
// different units are taken as independent.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTESTIMATE_H
#define MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTESTIMATE_H

#include "mpopt/Numerics/Likely.h"
#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::cells {

/// Mean and variance by unit.
struct Moments {
  std::vector<double> mean, variance;
};

/// One direction of a sequence op, its weights as numbers.
struct RecurrentUnits {
  size_t units = 0, inputs = 0, gates = 0;
  /// [gates * units, inputs] and [gates * units, units].
  std::vector<double> weights, recurrence;
  /// [gates * units], zero if there are none.
  std::vector<double> inputBias, stateBias;
  /// Moments of the input's features, one entry or `inputs`.
  Moments input;
  int64_t steps = 1;

  /// Moments of W x + b for all gates.
  Moments fromInput() const;
  /// Moments of R h + b for `count` gates from `first` on.
  Moments fromState(const Moments &state, size_t first, size_t count) const;
};

/// The weights' elements; nothing if they are no constants or too many. Weights
/// are [dirs, gates H, ...], biases [dirs, 2 gates H].
std::optional<RecurrentUnits>
readRecurrentUnits(TransferContext &ctx, mlir::Value input, mlir::Value weights,
                   mlir::Value recurrence, mlir::Value bias, int64_t gates,
                   int64_t steps, unsigned direction);

/// Bounds of a state h = f(W x + R h + b) after any of `steps` steps.
struct PlainBounds {
  Interval state;
  /// The largest sum of magnitudes that an activation takes.
  double magnitude = 0;
};

/// Unit by unit, the states of a step all in the intervals of the one before.
/// `error` is the relative one of the sums, `image` that of an activation.
/// Nothing where that takes too long.
std::optional<PlainBounds>
boundPlainUnits(const RecurrentUnits &units, llvm::ArrayRef<Interval> inputs,
                const Interval &initial, int64_t steps, double error,
                llvm::function_ref<Interval(const Interval &)> image);

/// The `index`-th activation of a direction.
using ActivationEstimate =
    llvm::function_ref<Likely(unsigned index, const Likely &)>;

struct RecurrentStates {
  Moments hidden, cell;
};

RecurrentStates estimateRNN(const RecurrentUnits &units,
                            ActivationEstimate activation);
/// Gates i o f c; activations f g h.
RecurrentStates estimateLSTM(const RecurrentUnits &units,
                             ActivationEstimate activation, bool coupled);
/// Gates z r h; activations f g.
RecurrentStates estimateGRU(const RecurrentUnits &units,
                            ActivationEstimate activation,
                            bool linearBeforeReset);

/// Tells the units of `value` apart, one cell before: its axes `directionAxis`
/// and the last one become kept. `draws` is the number of elements of a unit.
AbstractValue withUnits(const AbstractValue &value,
                        llvm::ArrayRef<Moments> directions,
                        size_t directionAxis, double draws);

} // namespace mpopt::cells

#endif // MPOPT_LIB_RANGES_OPS_RECURRENT_RECURRENTESTIMATE_H
