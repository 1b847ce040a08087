//===- TensorMeta.h - Types that a program declares -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_TENSORMETA_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_TENSORMETA_H

#include "Fields.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt::exported {

/// The numbers that a program uses for dtypes, memory formats and layouts, as
/// the numbers of c10 that the graph of aten ops uses. -1 if there is none.
int64_t toC10ScalarType(int64_t number);
int64_t toC10MemoryFormat(int64_t number);
int64_t toC10Layout(int64_t number);

struct TensorMeta {
  int scalarType = -1;              ///< number of c10::ScalarType
  std::vector<int64_t> sizes;       ///< -1: symbolic
  std::vector<std::string> symbols; ///< empty where a size is known
  std::vector<int64_t> strides;     ///< -1: symbolic
  int64_t storageOffset = 0;        ///< in elements
  bool requiresGrad = false;
};

/// The bounds that a program was exported for, by symbol.
struct SymbolRange {
  int64_t least = 0, most = INT64_MAX;
};
using SymbolRanges = std::map<std::string, SymbolRange>;

/// `tensor`: its name, for messages. Sizes of the symbols in `dims` are known.
TensorMeta readTensorMeta(const llvm::json::Object &meta,
                          llvm::StringRef tensor,
                          const std::map<std::string, int64_t> &dims,
                          Damage &damage);

/// The symbol that an expression consists of; empty for any other.
llvm::StringRef symbolOf(llvm::StringRef expression);

/// Reads `range_constraints`.
SymbolRanges readRanges(const llvm::json::Object &program, Damage &damage);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_TENSORMETA_H
