//===- Pooling.cpp
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/TorchScript/Lowering.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::torchscript;

void mpopt::torchscript::registerPooling(LoweringRegistry &registry) {}
