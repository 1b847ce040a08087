//===- FreshFacts.h - Facts of erased ops are dropped -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_INTERFACES_FRESHFACTS_H
#define MPOPT_DIALECT_INTERFACES_FRESHFACTS_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Builders.h"

namespace mpopt {

/// Listener for a builder that erases ops about which there are facts: a later
/// op may get the address of an erased one, and must not inherit its facts.
class FreshFacts : public mlir::OpBuilder::Listener {
public:
  explicit FreshFacts(ShapeFacts &facts) : facts(facts) {}

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    for (mlir::Value result : op->getResults())
      facts.set(result, std::nullopt);
  }

private:
  ShapeFacts &facts;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_INTERFACES_FRESHFACTS_H
