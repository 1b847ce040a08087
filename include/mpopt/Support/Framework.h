//===- Framework.h - Whose words and tables ---------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_FRAMEWORK_H
#define MPOPT_SUPPORT_FRAMEWORK_H

namespace mpopt {

/// Whose tables name an op.
enum class Framework { PyTorch, TensorFlow, Onnx };

} // namespace mpopt

#endif // MPOPT_SUPPORT_FRAMEWORK_H
