//===- LinearBounds.h - Bounds by backward relaxation -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals forget how values depend on each other, so that bounds grow from
// layer to layer. Here the elements of a tensor are written as linear forms of
// earlier tensors, op by op backward, with two lines in the place of each
// function, until inputs or other bounded tensors; there each form has an
// interval (Zhang et al., "Efficient Neural Network Robustness Certification
// with General Activation Functions", 2018; Singh et al., "An Abstract Domain
// for Certifying Neural Networks", 2019). Forms are of computed values: each
// rounding on the way is an error of theirs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_LINEAR_LINEARBOUNDS_H
#define MPOPT_LIB_RANGES_LINEAR_LINEARBOUNDS_H

#include "Step.h"

#include "llvm/ADT/DenseMap.h"

namespace mpopt::linear {

class LinearBounds {
public:
  /// Nothing is refined until a cost (Step::cost) is allowed, for all tensors
  /// together.
  explicit LinearBounds(TransferContext &ctx) : ctx(ctx) {}
  void allow(double cost) { budget = cost; }
  /// Values were computed anew.
  void forget() {
    steps.clear();
    held = 0;
  }

  /// Narrows the bounds of a result that was just computed, where they are far
  /// from what is expected.
  void refine(mlir::OpResult result, AbstractValue &pre);
  /// The number of results that may still ask: each has a share.
  void expect(size_t results) { expected = results; }

  /// Only the lines that are nearest at the middle are tried.
  void tryOnce() { lines = 1; }

  double left() const { return budget; }
  /// For each argument, by how much its elements move the forms that were
  /// looked at last.
  llvm::DenseMap<mlir::Value, std::vector<double>> influence;

private:
  struct Plan;
  struct Bounds;

  const Step *getStep(mlir::Value value);
  /// At most so many steps, and none behind those that cost more than
  /// `allowed`.
  Plan trace(mlir::OpResult result, const Box &box, size_t steps,
             double allowed = kInfinity);
  bool planDepth(mlir::OpResult result, const AbstractValue &pre, Plan &plan,
                 std::vector<Box> &blocks);
  llvm::SmallVector<int64_t> distinct(mlir::OpResult result, Box box,
                                      size_t axis, int64_t count, size_t steps,
                                      int64_t period);
  std::vector<Box> blocksOf(mlir::OpResult result, const AbstractValue &pre,
                            size_t steps);
  bool run(mlir::OpResult result, const Box &box, size_t steps, size_t near,
           Bounds &bounds);
  bool narrow(mlir::OpResult result, AbstractValue &pre,
              llvm::ArrayRef<Box> blocks, size_t steps, size_t near);
  bool conclude(const Forms &forms, Bounds &bounds);
  void store(mlir::Value value, const Part &part, Forms &forms);

  TransferContext &ctx;
  double budget = 0;
  size_t lines = kNear.size();
  size_t held = 0;
  size_t expected = 1;
  llvm::DenseMap<mlir::Value, std::unique_ptr<Step>> steps;
};

} // namespace mpopt::linear

#endif // MPOPT_LIB_RANGES_LINEAR_LINEARBOUNDS_H
