//===- ImportResult.h - Options and results of an import --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// The reason for which a model, or one node of it, was refused. Codes are
/// listed in ImportErrors.def and docs/import-errors.md.
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
  /// Names that the importer made up for nodes without one.
  llvm::StringSet<> unnamed;
  /// Missing files of external weights -> number of tensors that each should
  /// hold. Their constants still refer to the file: WeightStore fails for them,
  /// and readers treat the values as unknown.
  std::map<std::string, unsigned> missingWeights;
  /// Files of external weights, missing ones included.
  std::vector<std::string> weightFiles;
  /// The places of tensors, if the importer of the format records them.
  GraphPlaces places;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_IMPORTRESULT_H
