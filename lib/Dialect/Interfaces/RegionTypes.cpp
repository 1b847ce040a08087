//===- RegionTypes.cpp - Types inside the bodies of ops -------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Dialect/Interfaces/RegionTypes.h"

#include "mpopt/Dialect/Interfaces/RegionTypes.cpp.inc"
