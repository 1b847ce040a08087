//===- Interfaces.cpp - What every mp op can be asked
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Interfaces/Interfaces.h"

#include "mpopt/Dialect/Interfaces/Interfaces.cpp.inc"
