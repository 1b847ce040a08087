//===- Rewrite.h - The protobuf of a decided model --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_REWRITE_H
#define MPOPT_LIB_CONVERT_REWRITE_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Writes the types that were decided into the model's protobuf: casts where
/// they differ, constants in each type that is read, functions in each form
/// that is called. What no output depends on goes.
void rewrite(Model &model, Conversion &report);

/// Lists what stays in FP32 in a model that is not rewritten.
void listKept(Model &model, Conversion &report);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_REWRITE_H
