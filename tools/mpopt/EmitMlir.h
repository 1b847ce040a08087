//===- EmitMlir.h - mpopt --emit-mlir
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_EMITMLIR_H
#define MPOPT_TOOLS_MPOPT_EMITMLIR_H

#include "Options.h"

namespace mpopt {

/// Writes the imported IR; the exit status.
int emitMlir(const Options &options);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_EMITMLIR_H
