//===- DifferentiableInterface.cpp - Gradients of ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/DifferentiableInterface.h"

#include "Families.h"

#include "mpopt/Adjoint/SavingInterface.h"
#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mpopt;

#include "mpopt/Adjoint/DifferentiableInterface.cpp.inc"

void mpopt::registerGradientModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, mp::MPDialect *) {
#define MPOPT_GRADIENT_FAMILY(Name) attach##Name##Gradients(context);
#include "Families.inc"
    attachSavingModels(context);
  });
}
