//===- InputRanges.h - What is taken for granted about inputs ---*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_ANALYSIS_INPUTRANGES_H
#define MPOPT_LIB_ANALYSIS_INPUTRANGES_H

#include "mpopt/Transfer/AbstractValue.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace mpopt {

/// The value of a function's argument: what `assume` (`mp.assume`, may be null)
/// says, else what its dtype and its users say.
AbstractValue inputRange(mlir::BlockArgument input,
                         mlir::DictionaryAttr assume);

} // namespace mpopt

#endif // MPOPT_LIB_ANALYSIS_INPUTRANGES_H
