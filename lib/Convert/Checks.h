//===- Checks.h - ONNX's own checks of a model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_CHECKS_H
#define MPOPT_LIB_CONVERT_CHECKS_H

#include "Tensors.h"

#include <string>

namespace mpopt::convert {

/// One line each; empty if there is none.
struct Faults {
  /// The model is none: by onnx.checker, or by the types that do not fit.
  std::string fatal;
  /// Strict shape inference fails otherwise, as by a stale shape: runtimes take
  /// such files.
  std::string stale;
};

/// The nodes of the graph and of those in it in an order.
void sortNodes(onnx::GraphProto &graph);

/// Replaces stated shapes that inference contradicts: those of inner values go,
/// those of outputs become the inferred ones.
void mendShapes(onnx::ModelProto &model, TensorSource &source);

/// The faults that ONNX's own checks find. Of large weights they see the types
/// alone.
Faults findFaults(const onnx::ModelProto &model, TensorSource &source);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_CHECKS_H
