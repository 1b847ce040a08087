//===- Legacy.h - Experimental ops of early opsets --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACY_H
#define MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACY_H

#include "mpopt/Import/Onnx/Lowering.h"

namespace mpopt::onnx_import {

/// Adds the lowerings of Legacy.cpp, a part of the Elementwise family.
void registerLegacyLowerings(LoweringRegistry &registry);

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_LOWERING_LEGACY_H
