//===- ImportResult.h - What an import is given and gives -----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types that the readers of all formats share.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_IMPORTRESULT_H
#define MPOPT_IMPORT_IMPORTRESULT_H

#include "mpopt/Import/Format.h"
#include "mpopt/Import/GraphPlace.h"
#include "mpopt/Import/InputShape.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// Why a model, or one node of it, was refused. Codes are listed in
/// ImportErrors.def and docs/import-errors.md.
struct ImportError {
  std::string code; ///< `MPI106`
  std::string node; ///< node, value or tensor; empty if it is the file
  std::string reason;

  /// `MPI106: node 'Relu_3': reads 'x', which nothing defines`
  std::string str() const;
};

struct ImportOptions {
  std::map<std::string, int64_t> dims; ///< symbolic dim -> size
  std::vector<InputShape> inputShapes;
  std::string method;      ///< of a TorchScript module; empty: `forward`
  bool wantPlaces = false; ///< fill in ImportResult::places
};

/// Nodes of the model by whether their meaning is known. Nodes made by
/// expanding a function are not counted: the node that was expanded is.
struct Coverage {
  unsigned ops = 0;
  unsigned modelled = 0;
  std::map<std::string, unsigned> unmodelled; ///< `domain::Type` -> nodes
};

struct ImportResult {
  /// Null if there are errors.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ModelFormat format = ModelFormat::Unknown;
  std::vector<ImportError> errors;
  std::vector<std::string> warnings;
  Coverage coverage;
  uint64_t parameters = 0; ///< elements of all initializers
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> dimNames; ///< symbolic dims, sorted
  /// Names that nodes without one were given here.
  llvm::StringSet<> unnamed;
  /// Files of external weights that are not there, and how many tensors each
  /// should hold. Their constants refer to the file all the same: a reader gets
  /// an error from WeightStore, to be taken as "values unknown".
  std::map<std::string, unsigned> missingWeights;
  /// Files other than the model's own that it takes weights from, missing ones
  /// included.
  std::vector<std::string> weightFiles;
  /// The places of tensors, if the importer of the format records them.
  GraphPlaces places;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_IMPORTRESULT_H
