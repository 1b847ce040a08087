//===- RecurrentGates.h - Gates of cells and their slopes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With weights that are known every unit has gates of its own: W x + R h + b is
// normal with the moments at which the states settle, and expectations of gates
// and slopes are taken there.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_OPS_RECURRENTGATES_H
#define MPOPT_LIB_GRADIENTS_OPS_RECURRENTGATES_H

#include "lib/Gradients/Recurrence.h"
#include "lib/Gradients/Slope.h"
#include "lib/Ranges/Ops/Recurrent/RecurrentSupport.h"

namespace mpopt {

/// The functions of a cell's activations.
enum class Curve : uint8_t { Sigmoid, Tanh, Relu };

/// One cell with its states, ready to be passed back through.
struct CellModel {
  cells::RecurrentUnits units;
  cells::RecurrentStates states;
  /// The arguments of all gates, row by row.
  std::vector<double> mean, variance;

  /// Expectations over the argument of a unit's gate.
  Moments at(unsigned gate, size_t unit,
             llvm::function_ref<double(double)> function) const {
    size_t row = gate * units.units + unit;
    return momentsOf(mean[row], variance[row], function);
  }
  Moments slopeAt(unsigned gate, size_t unit,
                  llvm::function_ref<double(double)> slope) const {
    size_t row = gate * units.units + unit;
    return momentsOfPeak(mean[row], variance[row], slope);
  }
};

/// The places of gates.
struct LstmGates {
  unsigned input, output, forget, candidate;
};
struct GruGates {
  unsigned update, reset, candidate;
};

/// The result of an activation whose argument is normal.
Likely likelyOf(Curve curve, const Likely &x);
/// The share of the arguments at which a gate is not saturated: the mean square
/// of its slope over the largest square.
double openShareOf(double mean, double variance);
/// Adds what comes from the state to what comes from the input.
void setArguments(CellModel &cell);

CellFactors factorsOfLstm(const CellModel &cell, LstmGates at);
/// With the reset gate behind the product, n = tanh(W x + b + r (R h + b)), or
/// in front of it, n = tanh(W x + b + R (r h) + b).
CellFactors factorsOfGru(const CellModel &cell, GruGates at,
                         bool resetsProduct = true);
CellFactors factorsOfPlain(const CellModel &cell, Curve curve);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_OPS_RECURRENTGATES_H
