//===- ControlFlow.h - Bodies of branches and loops -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_CONTROLFLOW_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_CONTROLFLOW_H

#include "GraphImporter.h"

namespace mpopt::aten {

struct GraphImporter::Body {
  std::unique_ptr<mlir::Region> region = std::make_unique<mlir::Region>();
  std::vector<Item> results; ///< as the block gives them
  std::vector<Item> frozen;  ///< tensors as they are at its end
  State::Changes changes;
  size_t before = 0; ///< number of the last variable that is not the body's own
  mlir::Block &block() { return region->front(); }
  /// Adds the variables from before the body that members of a collection may
  /// share their storage with at its end.
  void findRoots(Collection &owner, Roots &roots) const;
};

/// The tensors and numbers inside an item, in order.
class Leaves {
public:
  using ValueOf = llvm::function_ref<mlir::Value(const Item &)>;

  /// Appends the leaves of `item`. Static things that are no numbers have none.
  static void collect(const Item &item, ValueOf valueOf,
                      llvm::SmallVectorImpl<mlir::Value> &values);
  /// True if both have their leaves in the same places.
  static bool match(const Item &lhs, const Item &rhs);
  /// `like` with its leaves taken from `values`, from `next` on, each of which
  /// may share the storage of `shared`.
  static Item rebuild(const Item &like, State &state, mlir::ValueRange values,
                      unsigned &next, const Roots &shared);
};

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_CONTROLFLOW_H
