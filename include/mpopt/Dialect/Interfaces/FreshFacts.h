//===- FreshFacts.h - Nothing is known of new ops ---------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_INTERFACES_FRESHFACTS_H
#define MPOPT_DIALECT_INTERFACES_FRESHFACTS_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"

#include "mlir/IR/Builders.h"

namespace mpopt {

/// Listens to the builder of who erases ops that it made facts about: a later
/// op may get the address of one, and must not get what was known of it.
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
