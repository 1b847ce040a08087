//===- MPDialect.cpp - The mp dialect: types and attributes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/MPDialect.h"

#include "mpopt/Support/WeightStore.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#include "mpopt/Dialect/MPEnums.cpp.inc"

#include "mpopt/Dialect/MPDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "mpopt/Dialect/MPTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "mpopt/Dialect/MPAttributes.cpp.inc"

void MPDialect::initialize() {
  weights = std::make_shared<WeightStore>();
  registerTypes();
  registerAttributes();
#define MPOPT_FAMILY(Name) register##Name##Ops();
#include "mpopt/Dialect/Families.inc"
#undef MPOPT_FAMILY
}

void MPDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "mpopt/Dialect/MPTypes.cpp.inc"
      >();
}

void MPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mpopt/Dialect/MPAttributes.cpp.inc"
      >();
}

LogicalResult
WeightAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   StringAttr file, int64_t offset, int64_t length) {
  if (file.getValue().empty())
    return emitError() << "a weight needs a file";
  if (offset < 0 || length < 0)
    return emitError() << "a weight's offset and length must not be negative";
  return success();
}
