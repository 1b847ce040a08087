//===- Drift.h - Estimates that drift apart with depth ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A self-check. A block y = x + f(x) amplifies the mean square of a gradient by
//
//     G = E g_x^2 / E g_y^2 = 1 + d^2 E f^2 / E x^2
//
// where d is the degree of f: a change of x by a small part p of its size
// changes f(x) by d p of its own. f is of degree 1 if it is linear or scales
// with x, and of degree 2 if two factors depend on x, as those of a gate do. A
// function h has E (x h')^2 / E h^2, softmax the variance of its logits. The
// forward estimate gives E f^2 / E x^2 and the backward estimate gives G: where
// G stays above what degree 2 allows, block after block, one of the two is
// wrong, and the errors of both multiply with depth. Of the stacks of
// bench/stacks.py and of trained encoders d^2 is between 0.1 and 3.
//
// One block alone proves nothing: it may subtract what is nearly equal. Not
// seen are steep functions that getFunction does not know, which amplify errors
// indeed; an estimate of the first order does not hold for them either.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_DRIFT_H
#define MPOPT_LIB_EFFECTS_DRIFT_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace mpopt {

class OutputGradients;
class RangeAnalysis;

/// Blocks that amplify gradients by more than their values allow.
struct Drift {
  /// The inputs of the first and of the last of them.
  mlir::Value first, last;
  unsigned blocks = 0;
  /// The mean square by which they do, but for the block that does most.
  double excess = 1;
};

class DriftCheck {
public:
  DriftCheck(mlir::Block &body, const RangeAnalysis &ranges);

  /// The drift on the way of an output, if it makes the output's error more
  /// than four times as large as it is.
  std::optional<Drift> find(size_t output,
                            const OutputGradients &gradients) const;

private:
  /// y = x + f(x), the largest G that the forward estimate allows, and the
  /// index of the block in front of it; -1 if there is none.
  struct Residual {
    mlir::Value input, sum;
    double allowed = 1;
    int before = -1;
  };
  std::vector<Residual> residuals;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_DRIFT_H
