//===- TopologicalOrder.cpp - An order for the nodes of a graph
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TopologicalOrder.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace llvm;
using namespace mpopt::onnx_import;

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Adjacency = SmallVector<SmallVector<unsigned, 2>, 0>;

/// Names that a graph reads from outside.
static void collectFreeNames(const onnx::GraphProto &graph,
                             DenseSet<StringRef> &free);

/// Names that a node reads, in its bodies too.
static void collectReads(const onnx::NodeProto &node,
                         DenseSet<StringRef> &reads) {
  for (const std::string &input : node.input())
    reads.insert(input);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      collectFreeNames(attribute.g(), reads);
    for (const onnx::GraphProto &graph : attribute.graphs())
      collectFreeNames(graph, reads);
  }
}

static void collectFreeNames(const onnx::GraphProto &graph,
                             DenseSet<StringRef> &free) {
  DenseSet<StringRef> reads;
  for (const onnx::NodeProto &node : graph.node())
    collectReads(node, reads);
  for (const auto &output : graph.output())
    reads.insert(output.name());
  for (const auto &input : graph.input())
    reads.erase(input.name());
  for (const auto &tensor : graph.initializer())
    reads.erase(tensor.name());
  for (const auto &sparse : graph.sparse_initializer())
    reads.erase(sparse.values().name());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      reads.erase(output);
  free.insert_range(reads);
}

/// Nodes that each node feeds.
static Adjacency findUsers(const Nodes &nodes) {
  DenseMap<StringRef, unsigned> producers;
  for (auto [index, node] : enumerate(nodes))
    for (const std::string &output : node.output())
      if (!output.empty())
        producers.try_emplace(output, unsigned(index));
  Adjacency users(nodes.size());
  for (auto [index, node] : enumerate(nodes)) {
    DenseSet<StringRef> reads;
    collectReads(node, reads);
    for (StringRef name : reads)
      if (auto it = producers.find(name); it != producers.end())
        users[it->second].push_back(index);
  }
  return users;
}

/// Each node that Kahn's algorithm cannot remove has a predecessor that it
/// cannot remove either, so walking back must meet a node again.
static SmallVector<unsigned> findCycle(const Adjacency &users,
                                       ArrayRef<unsigned> pending) {
  SmallVector<unsigned> predecessor(users.size(), 0);
  for (auto [index, list] : enumerate(users))
    for (unsigned user : list)
      if (pending[index] && pending[user])
        predecessor[user] = index;
  unsigned node = find_if(pending, [](unsigned count) { return count != 0; }) -
                  pending.begin();
  SmallVector<bool> seen(users.size(), false);
  SmallVector<unsigned> path;
  for (; !seen[node]; node = predecessor[node]) {
    seen[node] = true;
    path.push_back(node);
  }
  path.erase(path.begin(), find(path, node));
  std::reverse(path.begin(), path.end());
  return path;
}

NodeOrder mpopt::onnx_import::sortNodes(const Nodes &nodes) {
  Adjacency users = findUsers(nodes);
  SmallVector<unsigned> pending(nodes.size(), 0);
  for (const auto &list : users)
    for (unsigned user : list)
      ++pending[user];
  // Among the nodes that may come next, the first one of the file.
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (auto [index, count] : enumerate(pending))
    if (count == 0)
      ready.push(index);
  NodeOrder result;
  while (!ready.empty()) {
    unsigned node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (unsigned user : users[node])
      if (--pending[user] == 0)
        ready.push(user);
  }
  if (result.order.size() < size_t(nodes.size()))
    result.cycle = findCycle(users, pending);
  return result;
}
