//===- Precision.cpp - The arithmetic a model is judged under
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Precision.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;

// A row each: its name, and the formats of weights, activations, accumulators.
static constexpr Precision kPrecisions[] = {
    {"as-is", "", "", "", /*byPolicy=*/false},
    {"fp16", "f16", "f16", "", /*byPolicy=*/false},
    {"bf16", "bf16", "bf16", "", /*byPolicy=*/false},
    {"autocast-fp16", "", "f16", "", /*byPolicy=*/true},
    {"autocast-bf16", "", "bf16", "", /*byPolicy=*/true}};

llvm::ArrayRef<Precision> Precision::all() { return kPrecisions; }

const Precision *Precision::byName(llvm::StringRef name) {
  const Precision *found = llvm::find_if(
      kPrecisions, [&](const Precision &row) { return row.name == name; });
  return found == std::end(kPrecisions) ? nullptr : found;
}
