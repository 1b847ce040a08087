//===- RangeDump.h - mpopt --dump-ranges ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_RANGEDUMP_H
#define MPOPT_DRIVER_RANGEDUMP_H

#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "llvm/Support/raw_ostream.h"

namespace mpopt {

/// Writes `mpopt-ranges/1` JSON: the range of every tensor that the model
/// names.
void dumpRanges(llvm::raw_ostream &os, mlir::ModuleOp module,
                const ImportResult &imported, const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_DRIVER_RANGEDUMP_H
