//===- mpopt-opt.cpp - mlir-opt for the mp dialect and its passes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/DifferentiableInterface.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Gradients/SpreadModels.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "passes/rules/Rules.h"
#include "passes/transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mpopt::mp::MPDialect, mlir::func::FuncDialect>();
  mpopt::registerTransferModels(registry);
  mpopt::registerGradientModels(registry);
  mpopt::registerSpreadModels(registry);
  mpopt::registerMPOPTPasses();
  mpopt::registerRulesPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "mpopt-opt: passes over the mp dialect\n", registry));
}
