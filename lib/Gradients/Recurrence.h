//===- Recurrence.h - Gradients back through time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cell's step backward is linear in what arrives. With u the gradient of the
// hidden state and d that of what the cell keeps (an LSTM's cell, a GRU's
// state), unit by unit,
//
//   u_t = dY_t + R^T s_t+1,   d_t = entry u_t + keep d_t+1,   g_t = factor d_t
//
// where g is the gradient of a gate and s what of it goes through R. Entry,
// keep and factors are products of gates and slopes at random places:
// independent of the gradient and from step to step. docs/gradients.md has the
// recursions. Where a GRU's reset gate multiplies the state in front of R, the
// candidate's gradient comes through R first and meets the gate then.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_RECURRENCE_H
#define MPOPT_LIB_GRADIENTS_RECURRENCE_H

#include "mpopt/Ranges/Spread/Spread.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace mpopt {

/// Second moments of independent numbers, one of each unit: the mean, what
/// varies from sample to sample but not from step to step, as a variance, and
/// the variance of the rest.
struct TimeMoments {
  std::vector<double> mean, shared, own;

  explicit TimeMoments(size_t units = 0)
      : mean(units, 0.0), shared(units, 0.0), own(units, 0.0) {}
  size_t size() const { return mean.size(); }
};

/// The factors of one gate, by unit.
struct GateFactors {
  /// By what the gate's argument gets; on the way through R, by what.
  std::vector<Moments> input, state;
  /// It is the hidden state's gradient that is multiplied.
  bool ofHidden = false;
  /// It is what has come through the R of the gate `CellFactors::behind`.
  bool ofProduct = false;
};

struct CellFactors {
  std::vector<Moments> entry, keep;
  std::vector<GateFactors> gates;
  /// The gate, if any, whose R multiplies states times a factor: R (r h).
  std::optional<size_t> behind;
  std::vector<Moments> factors;
};

/// Sums over the steps of one sample, as their expectation, that of their
/// square, and of the squares' sum.
struct StepSums {
  std::vector<double> mean, square, squares;
  double steps = 0;

  explicit StepSums(size_t rows = 0)
      : mean(rows, 0.0), square(rows, 0.0), squares(rows, 0.0), shared(rows),
        extra(rows) {}
  void add(const TimeMoments &step, llvm::ArrayRef<double> inflation);
  void finish();
  /// A row's number at one step.
  Moments at(size_t row) const;

private:
  std::vector<double> shared, extra;
};

/// The gradients that leave a sequence.
struct PassedBack {
  /// Sums of the gates' arguments and of the operand of R: a row for each unit
  /// of each gate.
  StepSums input, state;
  /// Sums of X: a row for each feature, over all steps and by step (the last
  /// first) where asked for.
  StepSums features;
  std::vector<TimeMoments> byStep;
  /// Moments of the gradients of the states before the first step.
  TimeMoments hidden, kept;
};

/// Weights as [gates units, inputs] and [gates units, units]. `arriving` has
/// dY by step, the last first, one for all if there is only one; `lastKept` is
/// what arrives at the kept state after the last step.
PassedBack passBack(const CellFactors &cell, llvm::ArrayRef<double> weights,
                    llvm::ArrayRef<double> recurrence,
                    llvm::ArrayRef<TimeMoments> arriving,
                    const TimeMoments &lastHidden, const TimeMoments &lastKept,
                    int64_t steps, bool wantsSteps);

/// The variance of a sum of `steps` numbers each of which is `keep` times the
/// one before plus an independent one, by that of independent ones.
double inflationOf(double keep, int64_t steps);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_RECURRENCE_H
