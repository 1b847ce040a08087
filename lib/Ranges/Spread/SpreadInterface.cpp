//===- SpreadInterface.cpp - Correlation of elements
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Spread/SpreadInterface.h"

using namespace mpopt;

#include "mpopt/Ranges/Spread/SpreadInterface.cpp.inc"
