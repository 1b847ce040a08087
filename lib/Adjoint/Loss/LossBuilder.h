//===- LossBuilder.h - The ops of one loss ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_ADJOINT_LOSS_LOSSBUILDER_H
#define MPOPT_LIB_ADJOINT_LOSS_LOSSBUILDER_H

#include "mpopt/Adjoint/GradientContext.h"
#include "mpopt/Adjoint/Loss.h"

namespace mpopt {

/// True if the dims may be the same.
bool mayEqual(const MaybeShape &lhs, const MaybeShape &rhs);

/// Writes the graph of a term (LossTerm::graph) before the function's end.
/// `findOutput` gives the output of a name, or null. The result has one
/// element.
llvm::FailureOr<mlir::Value>
inlineLossGraph(mlir::func::FuncOp function, GradientContext &ctx,
                const LossTerm &term,
                llvm::function_ref<mlir::Value(llvm::StringRef)> findOutput);

/// Writes the ops of one term, whose names are all set.
class LossBuilder {
public:
  LossBuilder(mlir::func::FuncOp function, GradientContext &ctx,
              const LossTerm &term)
      : function(function), ctx(ctx), term(term),
        reduction(term.reduction.value_or(LossReduction::Mean)) {}

  /// The term without its weight. `predictions` are in the loss's dtype.
  llvm::FailureOr<mlir::Value> build(llvm::ArrayRef<mlir::Value> predictions);

private:
  mlir::func::FuncOp function;
  GradientContext &ctx;
  const LossTerm &term;
  LossReduction reduction;

  mlir::InFlightDiagnostic error();
  /// The argument of that name, which is added unless it is there.
  llvm::FailureOr<mlir::Value> getArgument(const llvm::Twine &name,
                                           const MaybeShape &shape,
                                           mlir::Type element,
                                           llvm::StringRef what);
  /// Leaves `mp.loss_target` on an argument: the kind, or what else it is.
  void markTarget(unsigned argument, llvm::StringRef what);
  double getMargin() const;
  /// The target of the prediction's shape and dtype.
  llvm::FailureOr<mlir::Value> getTarget(mlir::Value prediction);

  // Kinds.
  llvm::FailureOr<mlir::Value> buildPair(mlir::Value prediction);
  llvm::FailureOr<mlir::Value> buildClasses(mlir::Value prediction);
  llvm::FailureOr<mlir::Value> buildFocal(mlir::Value prediction);
  llvm::FailureOr<mlir::Value> buildKlNormal(mlir::Value mean,
                                             mlir::Value logVariance);
  llvm::FailureOr<mlir::Value> buildContrastive(mlir::Value similarity);
  llvm::FailureOr<mlir::Value> buildTriplet(llvm::ArrayRef<mlir::Value> rows);
  llvm::FailureOr<mlir::Value> buildCtc(mlir::Value logProbabilities);

  // Reductions: what the op is told, and what is left to do behind it.
  llvm::StringRef getOpReduction() const;
  mlir::NamedAttribute reductionAttribute() {
    return ctx.word("reduction", getOpReduction());
  }
  mlir::Value overBatch(mlir::Value loss, mlir::Value prediction,
                        unsigned axis = 0);
  mlir::Value reduced(mlir::Value elements);
  /// A dim as a scalar.
  Term sizeOf(mlir::Value value, unsigned axis);
};

} // namespace mpopt

#endif // MPOPT_LIB_ADJOINT_LOSS_LOSSBUILDER_H
