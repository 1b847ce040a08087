//===- SavingContext.h - What an op says of what it saves -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_SAVINGCONTEXT_H
#define MPOPT_ADJOINT_SAVINGCONTEXT_H

#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace mpopt {

/// Takes what one op saves.
class SavingContext {
public:
  virtual ~SavingContext() = default;

  mlir::Operation *op() const { return its; }
  /// The operands and results of the op that its gradient reads.
  llvm::ArrayRef<mlir::Value> reads() const { return values; }
  bool isRead(mlir::Value value) const {
    return llvm::is_contained(values, value);
  }

  /// The storage that the value is in, or a view of. A null value is none.
  virtual void keep(mlir::Value value) = 0;
  /// The same of weights that a file packs into one tensor for the op, of which
  /// the framework has the parameters: a copy in another type alone.
  virtual void keepPacked(mlir::Value weights) = 0;
  /// As `keep`, where the op reads the dims from `begin` to `end` as one, which
  /// takes a copy unless they lie so. `elements`, if given, is the size of the
  /// copy: of a value that is broadcast first.
  virtual void keepMerged(mlir::Value value, unsigned begin, unsigned end,
                          bool transposed,
                          std::optional<int64_t> elements = std::nullopt) = 0;
  /// A tensor that the model has no value for.
  virtual void keepNew(std::optional<int64_t> elements, mlir::Type type) = 0;

  void keepReads() {
    for (mlir::Value value : values)
      keep(value);
  }

protected:
  SavingContext(mlir::Operation *op, llvm::ArrayRef<mlir::Value> reads)
      : its(op), values(reads) {}

private:
  mlir::Operation *its;
  llvm::ArrayRef<mlir::Value> values;
};

} // namespace mpopt

#endif // MPOPT_ADJOINT_SAVINGCONTEXT_H
