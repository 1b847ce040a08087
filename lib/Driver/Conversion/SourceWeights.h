//===- SourceWeights.h - The weights that a result rounds -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result holds its weights as they are rounded, so that an analysis of it
// alone takes them for exact.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_DRIVER_CONVERSION_SOURCEWEIGHTS_H
#define MPOPT_LIB_DRIVER_CONVERSION_SOURCEWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

class SourceWeights {
public:
  /// Notes the constants of FP32 and FP16 of the source.
  void note(mlir::ModuleOp source);
  /// Gives the constants of 16 bits in `result` that have the name and shape of
  /// one of them its numbers, and a cast that rounds them.
  void restore(mlir::ModuleOp result) const;

private:
  /// Elements in a file, or `bytes` of them.
  struct Weight {
    std::vector<int64_t> shape;
    std::string file;
    int64_t offset = 0, length = 0;
    std::string bytes;
    bool isHalf = false;
  };

  std::map<std::string, std::optional<Weight>> weights; ///< null: ambiguous
};

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_SOURCEWEIGHTS_H
