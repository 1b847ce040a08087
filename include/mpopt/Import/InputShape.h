//===- InputShape.h - A shape that the caller gives an input ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_INPUTSHAPE_H
#define MPOPT_IMPORT_INPUTSHAPE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpopt {

/// A shape, and perhaps a dtype, that the caller gives an input.
struct InputShape {
  std::string input;
  std::vector<int64_t> dims; ///< negative: left open
  std::string elementType;   ///< as MLIR spells it (`f16`); empty: the model's
};

/// `NAME=1x3x224x224[:f16]`; a dim may be `?`, `scalar` is the shape without
/// dims. The error begins with `--input-shape`.
llvm::Expected<InputShape> parseInputShape(llvm::StringRef text);

/// The text that gives `shape` when it is parsed.
std::string printInputShape(const InputShape &shape);

} // namespace mpopt

#endif // MPOPT_IMPORT_INPUTSHAPE_H
