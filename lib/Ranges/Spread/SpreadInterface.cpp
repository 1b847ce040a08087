//===- SpreadInterface.cpp - Correlation of elements
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Spread/SpreadInterface.h"

using namespace mpopt;

#include "mpopt/Ranges/Spread/SpreadInterface.cpp.inc"
