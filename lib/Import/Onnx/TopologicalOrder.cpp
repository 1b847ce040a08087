//===- TopologicalOrder.cpp - Cycles among the nodes of a graph
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TopologicalOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

SmallVector<unsigned>
mpopt::onnx_import::findCycle(unsigned nodes,
                              ArrayRef<std::pair<unsigned, unsigned>> edges) {
  // Kahn's algorithm; what it cannot remove has a predecessor that it cannot
  // remove either, so walking back must meet a node again.
  SmallVector<SmallVector<unsigned, 2>> successors(nodes);
  SmallVector<unsigned> pending(nodes, 0);
  for (auto [from, to] : edges) {
    successors[from].push_back(to);
    ++pending[to];
  }
  SmallVector<unsigned> ready;
  for (unsigned node = 0; node < nodes; ++node)
    if (pending[node] == 0)
      ready.push_back(node);
  while (!ready.empty()) {
    unsigned node = ready.pop_back_val();
    for (unsigned successor : successors[node])
      if (--pending[successor] == 0)
        ready.push_back(successor);
  }
  SmallVector<int64_t> predecessor(nodes, -1);
  for (auto [from, to] : edges)
    if (pending[from] && pending[to])
      predecessor[to] = from;
  const auto *start =
      llvm::find_if(pending, [](unsigned count) { return count != 0; });
  if (start == pending.end())
    return {};
  SmallVector<unsigned> path;
  SmallVector<bool> seen(nodes, false);
  unsigned node = start - pending.begin();
  for (; !seen[node]; node = predecessor[node]) {
    seen[node] = true;
    path.push_back(node);
  }
  path.erase(path.begin(), llvm::find(path, node));
  std::reverse(path.begin(), path.end());
  return path;
}
