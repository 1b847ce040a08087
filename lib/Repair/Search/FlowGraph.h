//===- FlowGraph.h - Minimum cuts -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_REPAIR_SEARCH_FLOWGRAPH_H
#define MPOPT_LIB_REPAIR_SEARCH_FLOWGRAPH_H

#include "llvm/ADT/BitVector.h"

#include <cstdint>
#include <vector>

namespace mpopt {

/// A directed graph whose edges have capacities.
class FlowGraph {
public:
  using Vertex = unsigned;
  /// The capacity of an edge that no cut has, as long as one without such edges
  /// exists. Sums of prices stay far below.
  static constexpr int64_t kInfinite = int64_t(1) << 60;

  Vertex addVertex();
  void addEdge(Vertex from, Vertex to, int64_t capacity);

  /// The side of the source in the cheapest cut; of cuts that cost the same,
  /// the one with the fewest vertices on that side. Uses up the capacities.
  llvm::BitVector cut(Vertex source, Vertex sink);

private:
  struct Edge {
    Vertex to;
    int64_t left;
  };

  bool findLevels(Vertex source, Vertex sink);
  bool pushAlongPath(Vertex source, Vertex sink);

  /// An edge and its reverse are neighbours: i and i ^ 1.
  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> edgesOf;
  /// Distances from the source along edges with capacity left, and the edge of
  /// each vertex that is looked at next.
  std::vector<unsigned> levels, next;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_FLOWGRAPH_H
