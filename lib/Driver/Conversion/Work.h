//===- Work.h - How much of a model's arithmetic is in FP32 -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_WORK_H
#define MPOPT_LIB_DRIVER_CONVERSION_WORK_H

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// Multiplications of products, and those of them in FP32. A dim that is not
/// known counts as 1.
struct Work {
  double macs = 0, wideMacs = 0;

  double wideShare() const { return macs > 0 ? wideMacs / macs : 0; }
};

/// Bodies count as often as they run; once where that is not known.
Work countWork(mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_WORK_H
