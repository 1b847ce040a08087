//===- HalfModels.h - Models of FP16 on their way to BF16 -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_HALFMODELS_H
#define MPOPT_LIB_CONVERT_HALFMODELS_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// The nodes of a model of FP16 that compute in FP32, which get names if they
/// have none; nothing: no value is FP16.
std::optional<std::vector<WideNode>> listWide(Model &model);

/// Makes inputs and outputs FP32 ones of FP16 that were FP16 in `source` and
/// kept their type; `report` says so.
void restoreBorders(Model &model, llvm::ArrayRef<ConvertedBorder> source,
                    Conversion &report);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_HALFMODELS_H
