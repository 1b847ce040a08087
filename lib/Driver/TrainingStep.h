//===- TrainingStep.h - A model becomes a training step ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_TRAININGSTEP_H
#define MPOPT_LIB_DRIVER_TRAININGSTEP_H

#include "mpopt/Driver/CheckModule.h"

#include "mlir/IR/OwningOpRef.h"
#include "mpopt/Adjoint/Loss.h"

namespace mpopt {

/// Appends loss and backward graph to a module. Errors are one line, or are
/// left to the context's diagnostics, in which case their text is empty.
class TrainingStep {
public:
  /// `options` have a training configuration.
  TrainingStep(const Options &options, mlir::ModuleOp module)
      : options(options), config(*options.train), module(module) {}

  /// Before precision is applied: finds the loss, reads its files, and marks
  /// what the model has of it itself.
  llvm::Error prepare();
  /// Behind it: appends what the model lacks, and leaves what is declared
  /// (Settings.h) on the function.
  llvm::Error append();

  /// The reason why the step is not judged although the model is;
  /// empty if something can.
  const std::string &whyUnjudged() const { return unjudged; }
  CheckedTraining takeResult() { return std::move(result); }

private:
  llvm::Error setBatch();
  llvm::Error findTerms();
  llvm::Error readGraph(LossTerm &term);
  llvm::Error assumeTargets(unsigned first);
  llvm::Error differentiate(mlir::Value loss);
  void declareStep();
  void setFacts();
  std::vector<std::string> listParameters();

  const Options &options;
  const TrainConfig &config;
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  std::vector<LossTerm> terms;
  /// Those that graphs of terms are in.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> graphs;
  CheckedTraining result;
  std::string unjudged;
};

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_TRAININGSTEP_H
