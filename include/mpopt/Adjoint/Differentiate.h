//===- Differentiate.h - The backward graph of a value ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_ADJOINT_DIFFERENTIATE_H
#define MPOPT_ADJOINT_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// An op whose gradient was written, and those of its operands and results that
/// the gradient reads. Shapes alone do not count.
struct OpReads {
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value, 4> values;
  /// For an op with bodies the same of the ops of each body instead. They are
  /// copies that compute the body again, and stand for the body's own.
  std::vector<std::vector<OpReads>> bodies;
};

struct Gradients {
  /// One for each value asked for; null where none arrives.
  llvm::SmallVector<mlir::Value> values;
  /// Gradients of all values through which one went, the asked ones included.
  llvm::DenseMap<mlir::Value, mlir::Value> all;
  /// How many ops of each kind have a gradient and no formula here; what is
  /// behind them has a gradient that lacks their part.
  std::map<std::string, unsigned> lacking;
  /// In the order of the backward pass.
  std::vector<OpReads> reads;
};

/// Writes the gradients of `result` with respect to `wanted` at the builder's
/// place, behind every op that `result` depends on in its block. `seed` is the
/// gradient of `result` itself. Every op that is made has the location of the
/// op that it is the gradient of, and gradients of values with a name are named
/// `grad(NAME)`. Each gradient has the type of its value; of two dims that are
/// both unknown it is taken for granted that none was broadcast to the other.
/// Failure: the types of an op do not fit, which is reported there.
llvm::FailureOr<Gradients> differentiate(mlir::OpBuilder &builder,
                                         mlir::Value result, mlir::Value seed,
                                         llvm::ArrayRef<mlir::Value> wanted);

/// Gives ops below `root` the results that their gradients read: dropout its
/// mask. `replaced` is told of each result that another op has now.
void prepareGradients(
    mlir::Operation *root,
    llvm::function_ref<void(mlir::Value, mlir::Value)> replaced = {});

/// True for the cast by which a precision stores a constant in 16 bits: its
/// result is the parameter that the model then has.
bool storesConstant(mlir::Operation *op);

/// True if a gradient of the value makes sense: a tensor of floats, or of an
/// unknown dtype.
bool isDifferentiable(mlir::Type type);

} // namespace mpopt

#endif // MPOPT_ADJOINT_DIFFERENTIATE_H
