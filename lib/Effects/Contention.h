//===- Contention.h - Attention that picks one key --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where scores are far apart a softmax picks one key in nearly every row, and
// an error moves the few rows in which two keys contend, but those far. With g
// the gap between the best two scores, of density f next to 0, and d the
// difference of their errors, a row moves by sigmoid(g + d) - sigmoid(g):
//
//   integral of its square over all g = h(d) = d coth(d / 2) - 2,
//
// d^2 / 6 for small d, which is first order, and |d| for large ones, as the
// rows with gaps below that pick the other key.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_CONTENTION_H
#define MPOPT_LIB_EFFECTS_CONTENTION_H

#include "LargestError.h"

#include "mpopt/Propagate/ErrorMoments.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace mpopt {

class OutputGradients;
class RangeAnalysis;

/// A softmax with scores far apart, and what moves of it.
struct Contention {
  /// The tensors by which all errors of scores come, and the mean square of the
  /// errors of each: the scores, or the query and key of an attention.
  llvm::SmallVector<std::pair<mlir::Value, double>, 2> carriers;
  /// The mean square of the scores' errors.
  double error = 0;
  /// The share of its rows that moves, and the rows.
  double share = 1, rows = 0;
  /// The square of what moves, of what first order has for it, at most 1.
  double factor = 1;
};

/// The softmaxes of a body of which few rows move. `getMoments` gives the
/// errors of the body's tensors; it is called if there is one.
std::vector<Contention> findContentions(mlir::Block &body,
                                        const RangeAnalysis &ranges,
                                        const OutputGradients &gradients,
                                        const ErrorMoments &moments);

/// Adds to an output's error, of a mean square of all elements that adds up to
/// `normal`, the parts that come by scores; what is too much of them is gone
/// from the sum.
void addContended(llvm::ArrayRef<Contention> contentions, size_t output,
                  const OutputGradients &gradients, SquaredError &error,
                  double normal);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_CONTENTION_H
