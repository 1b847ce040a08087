//===- Subfamilies.h - Files that share a family ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a family (Aten/Lowering.h) registers the lowerings of these.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_SUBFAMILIES_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_SUBFAMILIES_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

void registerComplex(LoweringRegistry &registry);
void registerConversion(LoweringRegistry &registry);
void registerConvolution(LoweringRegistry &registry);
void registerCopies(LoweringRegistry &registry);
void registerDecomposedQuantization(LoweringRegistry &registry);
void registerDistance(LoweringRegistry &registry);
void registerDropout(LoweringRegistry &registry);
void registerElementwiseComposites(LoweringRegistry &registry);
void registerEmbedding(LoweringRegistry &registry);
void registerEncoderLayer(LoweringRegistry &registry);
void registerIndexWrites(LoweringRegistry &registry);
void registerJoining(LoweringRegistry &registry);
void registerLayout(LoweringRegistry &registry);
void registerNorms(LoweringRegistry &registry);
void registerSearch(LoweringRegistry &registry);
void registerSelection(LoweringRegistry &registry);
void registerSignal(LoweringRegistry &registry);
void registerSlicing(LoweringRegistry &registry);
void registerWindows(LoweringRegistry &registry);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_SUBFAMILIES_H
