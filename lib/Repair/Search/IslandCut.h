//===- IslandCut.h - Where a list of nodes ends -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPAIR_SEARCH_ISLANDCUT_H
#define MPOPT_LIB_REPAIR_SEARCH_ISLANDCUT_H

#include "Prices.h"

namespace mpopt {

/// The nodes that are cheaper in FP32 beside `kept`, which are, since a cast
/// into 16 bits and one back cost more: those of the cheapest cut between the
/// nodes that have to compute in FP32 and all that is better in 16 bits.
/// `wideBorders`: inputs and outputs of the model are FP32.
NodeSet findCheaperInside(mlir::ModuleOp module, const Nodes &nodes,
                          const Prices &prices,
                          const llvm::DenseSet<Node> &kept, bool wideBorders);

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_ISLANDCUT_H
