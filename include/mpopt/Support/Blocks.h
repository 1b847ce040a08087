//===- Blocks.h - Blocks of a network by the names of modules ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_BLOCKS_H
#define MPOPT_SUPPORT_BLOCKS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// The block that a module belongs to: the first part of its name that is a
/// number (`layers.3.mlp`), as lists of modules count them.
inline std::optional<int64_t> getBlock(llvm::StringRef module) {
  while (!module.empty()) {
    auto [part, rest] = module.split('.');
    int64_t block;
    if (!part.getAsInteger(10, block) && block >= 0)
      return block;
    module = rest;
  }
  return std::nullopt;
}

} // namespace mpopt

#endif // MPOPT_SUPPORT_BLOCKS_H
