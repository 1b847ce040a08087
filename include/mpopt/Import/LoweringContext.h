//===- LoweringContext.h - One node to mp ops, of any format ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part that the lowerings of all importers have in common. Numbers are
// asked for by the name of the attribute or input that holds them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_LOWERINGCONTEXT_H
#define MPOPT_IMPORT_LOWERINGCONTEXT_H

#include "mpopt/Import/OpMaker.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <optional>

namespace mpopt {

class LoweringContext : public OpMaker {
public:
  virtual unsigned numOutputs() const = 0;

  // The value; nothing if it is absent or not known at import.
  virtual std::optional<int64_t> findInt(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::StringRef>
  findString(llvm::StringRef name) const = 0;
  virtual std::optional<llvm::SmallVector<int64_t>>
  findInts(llvm::StringRef name) const = 0;

  int64_t getInt(llvm::StringRef name, int64_t otherwise) const {
    return findInt(name).value_or(otherwise);
  }

  /// Binds output `index`.
  virtual void setOutput(unsigned index, mlir::Value value) = 0;

  /// Returned for a form that has no lowering: the importer treats the node as
  /// an unknown op. No output may have been set before.
  llvm::LogicalResult unsupported() { return mlir::failure(); }
  /// Reports that the node is invalid, with its name and this reason; fails.
  virtual llvm::LogicalResult error(const llvm::Twine &reason) = 0;

protected:
  using OpMaker::OpMaker;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_LOWERINGCONTEXT_H
