//===- WholeShifts.h - What quantisation moves as a whole -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings are independent of each other and of what is rounded. A clip is
// not: it shrinks what it clips, all elements alike, and so do a scale that is
// read otherwise than written and a bias in another unit. Sums and means keep
// such errors, however many elements they have, where those of independent
// ones cancel. They follow from the ranges of the graph without that part of
// its quantisation: two outputs whose elements have the means m, m' and the
// deviations s, s' differ by at least (m - m')^2 + (s - s')^2 in the mean
// square, whatever they have in common (the distance of distributions).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_WHOLESHIFTS_H
#define MPOPT_LIB_EFFECTS_WHOLESHIFTS_H

#include "mpopt/Propagate/QuantizationErrors.h"
#include "mpopt/Report/Effect.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <vector>

namespace mpopt {

/// The least error of a value: root mean square, and largest.
struct WholeShift {
  double rms = 0, largest = 0;
  /// The value without that part of quantisation, in the same way.
  double exactRms = 0, exactMost = 0;
};

/// The ranges of a module without one cause of errors, as far as it moves
/// tensors as a whole.
class WithoutCause {
public:
  WithoutCause(mlir::ModuleOp module, const RangeAnalysis &ranges,
               QuantizationErrors &errors, QuantizationCause cause);
  ~WithoutCause();
  WithoutCause(WithoutCause &&);

  /// The values that are other ones without the cause.
  llvm::ArrayRef<mlir::Value> sources() const { return moved; }
  /// Nothing if the value is the same, or nothing is expected of it.
  std::optional<WholeShift> shiftOf(mlir::Value value) const;

private:
  class Copy;
  void exemptHidden(mlir::ModuleOp module);

  const RangeAnalysis &ranges;
  std::unique_ptr<Copy> copy;
  std::vector<mlir::Value> moved;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_WHOLESHIFTS_H
