//===- Roofline.h - The time of a model on a device -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_ADVISE_ROOFLINE_H
#define MPOPT_LIB_DRIVER_ADVISE_ROOFLINE_H

#include "mpopt/Support/DeviceFile.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>

namespace mpopt {

/// A lower bound of the time of one run, op by op: each takes the longest of
/// its arithmetic at the device's rate, its operands and results at the
/// bandwidth, and a launch (Williams, Waterman and Patterson, "Roofline",
/// Communications of the ACM 52(4), 2009). Ops are not fused, bodies of loops
/// run once, and an open dimension counts as 1.
struct Workload {
  double seconds = 0;
  /// The parts of it by what bounds an op.
  double compute = 0, memory = 0, launches = 0;
  double operations = 0; ///< Of products, two for each multiplication.
  /// Bytes of the constants as stored, and of the tensors that live at once.
  double weights = 0, peak = 0;
  unsigned products = 0;
  /// Products with a size that is no multiple of what the rate asks for.
  unsigned uneven = 0;
  unsigned open = 0; ///< Tensors with an open dimension.
  /// Formats of products that the device has no arithmetic for.
  std::set<std::string> lacking;
};

/// `products`: the format of all products' operands; empty where each has that
/// of its operands' dtype.
Workload measureWorkload(mlir::ModuleOp module, const DeviceProfile &device,
                         llvm::StringRef products = "");

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_ADVISE_ROOFLINE_H
