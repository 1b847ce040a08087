//===- ForwardingContext.h - Contexts beside another ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks that give values of their own read constants, shapes and the target
// where the range analysis has them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_FORWARDINGCONTEXT_H
#define MPOPT_RANGES_VALUE_FORWARDINGCONTEXT_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

/// A `Context` that has values of its own, and the rest from `base`, which it
/// does not own.
template <typename Context = TransferContext>
class ForwardingContext : public Context {
public:
  explicit ForwardingContext(TransferContext &base) : base(base) {}

  std::optional<WeightView> weights(mlir::Value value) override {
    return base.weights(value);
  }
  std::optional<WeightView> matrixWeights(mlir::Value value,
                                          bool &swapped) override {
    return base.matrixWeights(value, swapped);
  }
  const ShapeFacts &shapes() override { return base.shapes(); }
  const TargetProfile &target() override { return base.target(); }
  GroupLimit groupLimit() const override { return base.groupLimit(); }
  SharedSums sharedSums() override { return base.sharedSums(); }

protected:
  TransferContext &base;
};

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_FORWARDINGCONTEXT_H
