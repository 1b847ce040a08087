//===- RegionTypes.cpp - Types inside the bodies of ops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Interfaces/RegionTypes.h"

#include "mpopt/Dialect/Interfaces/RegionTypes.cpp.inc"
