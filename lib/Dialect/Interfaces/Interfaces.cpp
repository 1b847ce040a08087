//===- Interfaces.cpp - What every mp op can be asked
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Interfaces/Interfaces.h"

#include "mpopt/Dialect/Interfaces/Interfaces.cpp.inc"
