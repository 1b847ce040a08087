//===- ScaleDump.h - mpopt --scales -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_SCALEDUMP_H
#define MPOPT_DRIVER_SCALEDUMP_H

#include "mpopt/Report/ProductReport.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt {

/// Writes `mpopt-scales/1`.
void dumpScales(llvm::raw_ostream &os, llvm::StringRef precision,
                llvm::ArrayRef<TensorScale> scales);

} // namespace mpopt

#endif // MPOPT_DRIVER_SCALEDUMP_H
