//===- OpMaker.h - Makes mp ops with inferred types -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of an importer's node context that does not depend on the format.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_OPMAKER_H
#define MPOPT_IMPORT_OPMAKER_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"

namespace mpopt {

/// Makes mp ops of one node, their types inferred, at the builder's place.
class OpMaker {
public:
  virtual ~OpMaker() = default;

  mlir::OpBuilder &builder() { return opBuilder; }
  mlir::Location loc() const { return location; }
  mlir::MLIRContext *context() const { return opBuilder.getContext(); }
  const ShapeFacts &facts() const { return shapeFacts; }

  /// Makes an op with one result, with inferred type. Arguments are those of
  /// the op's builder after the result type.
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    return makeTyped<OpT>({getUnknownTensor(context())},
                          std::forward<Args>(args)...)
        ->getResult(0);
  }

  /// The same with the given result types, which inference refines: for several
  /// results, or where the dtype is not in the operands (mp.cast).
  template <typename OpT, typename... Args>
  OpT makeTyped(mlir::TypeRange types, Args &&...args) {
    auto op =
        OpT::create(opBuilder, location, types, std::forward<Args>(args)...);
    finish(op);
    return op;
  }

  /// `count` results of unknown type, for makeTyped.
  llvm::SmallVector<mlir::Type> unknownTypes(unsigned count) const {
    return llvm::SmallVector<mlir::Type>(count, getUnknownTensor(context()));
  }

  /// A rank-0 constant.
  mlir::Value makeScalar(double value, mlir::Type elementType);
  /// A rank-1 constant of i64.
  mlir::Value makeInts(llvm::ArrayRef<int64_t> values);

  /// Infers the types of a new op. `make` calls it; call it again for an op
  /// that got its bodies afterwards.
  virtual void finish(mlir::Operation *op) = 0;

protected:
  OpMaker(mlir::OpBuilder &opBuilder, mlir::Location location,
          ShapeFacts &shapeFacts)
      : opBuilder(opBuilder), location(location), shapeFacts(shapeFacts) {}

  mlir::OpBuilder &opBuilder;
  mlir::Location location;
  ShapeFacts &shapeFacts;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_OPMAKER_H
