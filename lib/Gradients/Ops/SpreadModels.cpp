//===- SpreadModels.cpp - Registration of spread functions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Gradients/SpreadModels.h"

#include "Families.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mpopt;

void mpopt::registerSpreadModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, mp::MPDialect *) {
#define MPOPT_SPREAD_FAMILY(Name) attach##Name##Spreads(context);
#include "Families.inc"
  });
}
