//===- SequentialContext.h - A context for one thread -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_SEQUENTIALCONTEXT_H
#define MPOPT_DIALECT_SEQUENTIALCONTEXT_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace mpopt {

/// A context whose modules one thread works on at a time. Each attribute and
/// type is then kept in one table, without locks: `Threading::DISABLED` alone
/// starts no threads, but leaves the uniquers as they are for several (a table
/// a thread, and one behind locks).
class SequentialContext : public mlir::MLIRContext {
public:
  explicit SequentialContext(
      const mlir::DialectRegistry &registry = mlir::DialectRegistry())
      : MLIRContext(registry, Threading::DISABLED) {
    disableMultithreading();
  }
};

} // namespace mpopt

#endif // MPOPT_DIALECT_SEQUENTIALCONTEXT_H
