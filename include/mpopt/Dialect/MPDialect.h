//===- MPDialect.h - The mp dialect: types and attributes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_MPDIALECT_H
#define MPOPT_DIALECT_MPDIALECT_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <memory>

namespace mpopt {
class WeightStore;
} // namespace mpopt

#include "mpopt/Dialect/MPEnums.h.inc"

#include "mpopt/Dialect/MPDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mpopt/Dialect/MPTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mpopt/Dialect/MPAttributes.h.inc"

#endif // MPOPT_DIALECT_MPDIALECT_H
