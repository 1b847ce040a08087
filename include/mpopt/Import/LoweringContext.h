//===- LoweringContext.h - One node to mp ops, of any format ----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

  // Nothing where it is absent or not known now.
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

  /// This form has no lowering: the importer does what it does with unknown
  /// ops. Nothing may have been set.
  llvm::LogicalResult unsupported() { return mlir::failure(); }
  /// The node is wrong: reported with the node and this reason.
  virtual llvm::LogicalResult error(const llvm::Twine &reason) = 0;

protected:
  using OpMaker::OpMaker;
};

} // namespace mpopt

#endif // MPOPT_IMPORT_LOWERINGCONTEXT_H
