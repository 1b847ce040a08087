//===- FlowGraph.cpp - Minimum cuts by maximum flows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dinic's algorithm: E. A. Dinic, "Algorithm for solution of a problem of
// maximum flow in networks with power estimation", Soviet Mathematics Doklady
// 11, 1970. Paths are searched in the order in which edges were added, so that
// the same graph has the same flow everywhere; the cut does not depend on it.
//
//===----------------------------------------------------------------------===//

#include "FlowGraph.h"

#include <algorithm>
#include <limits>

using namespace mpopt;

/// The level of a vertex that no path leads to.
static constexpr unsigned kUnreached = std::numeric_limits<unsigned>::max();

FlowGraph::Vertex FlowGraph::addVertex() {
  edgesOf.emplace_back();
  return edgesOf.size() - 1;
}

void FlowGraph::addEdge(Vertex from, Vertex to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// False if the sink is out of reach.
bool FlowGraph::findLevels(Vertex source, Vertex sink) {
  levels.assign(edgesOf.size(), kUnreached);
  levels[source] = 0;
  std::vector<Vertex> order = {source};
  for (size_t index = 0; index < order.size(); ++index)
    for (unsigned edge : edgesOf[order[index]])
      if (edges[edge].left > 0 && levels[edges[edge].to] == kUnreached) {
        levels[edges[edge].to] = levels[order[index]] + 1;
        order.push_back(edges[edge].to);
      }
  return levels[sink] != kUnreached;
}

/// Pushes as much as one path of rising levels takes. False if there is none
/// left. Chains are as long as the model, hence no recursion.
bool FlowGraph::pushAlongPath(Vertex source, Vertex sink) {
  std::vector<unsigned> path;
  Vertex at = source;
  while (at != sink) {
    bool advanced = false;
    for (; next[at] < edgesOf[at].size() && !advanced; ++next[at]) {
      const Edge &edge = edges[edgesOf[at][next[at]]];
      if (edge.left > 0 && levels[edge.to] == levels[at] + 1) {
        advanced = true;
        break;
      }
    }
    if (advanced) {
      path.push_back(edgesOf[at][next[at]]);
      at = edges[path.back()].to;
      continue;
    }
    if (path.empty())
      return false;
    at = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[at];
  }
  int64_t most = kInfinite;
  for (unsigned edge : path)
    most = std::min(most, edges[edge].left);
  for (unsigned edge : path) {
    edges[edge].left -= most;
    edges[edge ^ 1].left += most;
  }
  return true;
}

llvm::BitVector FlowGraph::cut(Vertex source, Vertex sink) {
  while (findLevels(source, sink)) {
    next.assign(edgesOf.size(), 0);
    while (pushAlongPath(source, sink)) {
    }
  }
  llvm::BitVector side(edgesOf.size());
  for (Vertex vertex = 0; vertex < levels.size(); ++vertex)
    if (levels[vertex] != kUnreached)
      side.set(vertex);
  return side;
}
