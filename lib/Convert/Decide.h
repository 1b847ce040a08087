//===- Decide.h - Which groups stay in FP32 ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_DECIDE_H
#define MPOPT_LIB_CONVERT_DECIDE_H

#include "Graph.h"
#include "Tensors.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Marks what an output of the model depends on, and ops that have no result.
void markLive(Model &model);

/// Keeps in FP32 what leads to a shape, an index or a count, and what a cast to
/// integers reads, unless no rounding moves the integers.
void keepCounts(Model &model, TensorSource &tensors);

/// Widens the groups that stay in FP32: by the request, by what the file says
/// itself, and what lies between them. The error says which word of the request
/// fits nothing.
llvm::Error decide(Model &model, const ConvertRequest &request,
                   TensorSource &tensors);

/// True if any value changes its type.
bool becomesLow(Model &model);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_DECIDE_H
