//===- FlowGraphTest.cpp - Minimum cuts
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Repair/Search/FlowGraph.h"

#include "gtest/gtest.h"

#include <random>
#include <tuple>

using namespace mpopt;

namespace {

struct Arc {
  unsigned from, to;
  int64_t capacity;
};

FlowGraph makeGraph(unsigned vertices, const std::vector<Arc> &arcs) {
  FlowGraph graph;
  for (unsigned vertex = 0; vertex < vertices; ++vertex)
    graph.addVertex();
  for (const Arc &arc : arcs)
    graph.addEdge(arc.from, arc.to, arc.capacity);
  return graph;
}

int64_t priceOf(const llvm::BitVector &side, const std::vector<Arc> &arcs) {
  int64_t price = 0;
  for (const Arc &arc : arcs)
    if (side.test(arc.from) && !side.test(arc.to))
      price += arc.capacity;
  return price;
}

/// The cheapest side by trying all, and of those the smallest.
std::pair<int64_t, unsigned> tryAll(unsigned vertices,
                                    const std::vector<Arc> &arcs) {
  std::pair<int64_t, unsigned> best = {FlowGraph::kInfinite, 0};
  for (unsigned set = 0; set < 1u << vertices; ++set) {
    if (!(set & 1) || (set >> (vertices - 1) & 1))
      continue;
    llvm::BitVector side(vertices);
    for (unsigned vertex = 0; vertex < vertices; ++vertex)
      if (set >> vertex & 1)
        side.set(vertex);
    best = std::min(best, std::pair(priceOf(side, arcs), side.count()));
  }
  return best;
}

} // namespace

TEST(FlowGraph, CutsTheCheaperOfTwoEdges) {
  std::vector<Arc> arcs = {{0, 1, 3}, {1, 2, 5}};
  llvm::BitVector side = makeGraph(3, arcs).cut(0, 2);
  EXPECT_TRUE(side.test(0));
  EXPECT_FALSE(side.test(1));
}

TEST(FlowGraph, LeavesWhatCostsTheSameToTheSink) {
  std::vector<Arc> arcs = {{0, 1, 4}, {1, 2, 4}};
  EXPECT_EQ(makeGraph(3, arcs).cut(0, 2).count(), 1u);
}

// A path through the middle has to be undone by flow along the reverse edge.
TEST(FlowGraph, TakesBackFlow) {
  std::vector<Arc> arcs = {
      {0, 1, 1}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1}};
  EXPECT_EQ(priceOf(makeGraph(4, arcs).cut(0, 3), arcs), 2);
}

TEST(FlowGraph, AsTryingAllCutsOfRandomGraphs) {
  std::mt19937 random(1);
  for (unsigned run = 0; run < 200; ++run) {
    unsigned vertices = 4 + random() % 6;
    std::vector<Arc> arcs;
    for (unsigned index = 0; index < 3 * vertices; ++index)
      arcs.push_back({unsigned(random() % vertices),
                      unsigned(random() % vertices),
                      random() % 8 == 0 ? FlowGraph::kInfinite >> 8
                                        : int64_t(random() % 10)});
    llvm::BitVector side = makeGraph(vertices, arcs).cut(0, vertices - 1);
    ASSERT_TRUE(side.test(0));
    ASSERT_FALSE(side.test(vertices - 1));
    EXPECT_EQ(std::pair(priceOf(side, arcs), unsigned(side.count())),
              tryAll(vertices, arcs));
  }
}

// Depth of the search and time: a chain as long as a large model.
TEST(FlowGraph, LongChain) {
  constexpr unsigned kLength = 100'000;
  std::vector<Arc> arcs;
  for (unsigned vertex = 0; vertex + 1 < kLength; ++vertex)
    arcs.push_back({vertex, vertex + 1, vertex == 70'000 ? 1 : 2});
  EXPECT_EQ(makeGraph(kLength, arcs).cut(0, kLength - 1).count(), 70'001u);
}
