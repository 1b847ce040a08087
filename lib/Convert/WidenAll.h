//===- WidenAll.h - 16-bit models back to FP32 ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_WIDENALL_H
#define MPOPT_LIB_CONVERT_WIDENALL_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

namespace mpopt::convert {

/// Makes every FP16 and BF16 tensor FP32; casts that then change nothing go.
/// False if there was none.
bool widenAll(onnx::ModelProto &model, Conversion &report);

/// Removes casts between floats of 16 and 32 bits, which are one type then, but
/// in functions. An output that one gave is given by the op in front of it.
void dropCasts(Model &model);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_WIDENALL_H
