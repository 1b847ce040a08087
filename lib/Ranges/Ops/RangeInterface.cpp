//===- RangeInterface.cpp - Ranges from operands to results
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/RangeInterface.h"

#include "Families.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/IR/DialectRegistry.h"

using namespace mpopt;

#include "mpopt/Ranges/RangeInterface.cpp.inc"

void mpopt::registerTransferModels(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, mp::MPDialect *) {
#define MPOPT_TRANSFER_FAMILY(Name) attach##Name##Transfers(context);
#include "Families.inc"
  });
}
