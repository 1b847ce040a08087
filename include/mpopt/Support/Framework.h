//===- Framework.h - Whose words and tables ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_FRAMEWORK_H
#define MPOPT_SUPPORT_FRAMEWORK_H

namespace mpopt {

/// Whose tables name an op.
enum class Framework { PyTorch, TensorFlow, Onnx };

} // namespace mpopt

#endif // MPOPT_SUPPORT_FRAMEWORK_H
