//===- BoundedJson.h - JSON of any origin -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_BOUNDEDJSON_H
#define MPOPT_SUPPORT_BOUNDEDJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mpopt {

/// As llvm::json::parse, which recurses; text that is nested deeper than
/// anything mpopt reads or writes is refused before it. The error is a phrase:
/// `is not JSON: ...`.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_SUPPORT_BOUNDEDJSON_H
