//===- IslandCut.cpp - Where a list of nodes ends
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vertices: the source (FP32), the sink (16 bits), the nodes, and two for each
// value. A node on the source's side pays its edge to the sink. A value that is
// cast down is cast once for all that read it in 16 bits, and the same goes for
// up, hence a vertex for each direction:
//
//   maker --cast--> down --inf--> each reader    (maker FP32, a reader not)
//   each reader --inf--> up --cast--> maker      (a reader FP32, maker not)
//
//===----------------------------------------------------------------------===//

#include "IslandCut.h"

#include "FlowGraph.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>

using namespace mlir;
using namespace mpopt;

namespace {
class IslandGraph {
public:
  IslandGraph(ModuleOp module, const Nodes &nodes, const Prices &prices,
              const llvm::DenseSet<Node> &kept, bool wideBorders);

  /// The nodes on the source's side.
  NodeSet cut();

private:
  using Vertex = FlowGraph::Vertex;

  std::optional<Vertex> vertexOf(Operation *op) const;
  void addReaders(Value value, llvm::SetVector<Vertex> &readers) const;
  void addValue(Value value, Vertex maker);

  const Nodes &nodes;
  bool wideBorders;
  FlowGraph graph;
  Vertex source, sink;
};
} // namespace

IslandGraph::IslandGraph(ModuleOp module, const Nodes &nodes,
                         const Prices &prices, const llvm::DenseSet<Node> &kept,
                         bool wideBorders)
    : nodes(nodes), wideBorders(wideBorders) {
  for (Node node = 0; node < nodes.size(); ++node)
    graph.addVertex();
  source = graph.addVertex();
  sink = graph.addVertex();
  for (Node node = 0; node < nodes.size(); ++node) {
    if (kept.contains(node))
      graph.addEdge(source, node, FlowGraph::kInfinite);
    graph.addEdge(node, sink, prices.of(node));
  }
  if (!wideBorders)
    for (auto function : module.getOps<FunctionOpInterface>())
      for (Value argument : function.getArguments())
        addValue(argument, sink);
  module.walk([&](Operation *op) {
    std::optional<Vertex> maker = vertexOf(op);
    if (maker && !isInserted(op) && !isa<mp::ConstantOp>(op))
      for (Value result : op->getResults())
        addValue(result, *maker);
  });
}

/// Ops that are not kept by name compute in 16 bits, the ends of bodies, too.
/// Nothing for the model's own end if outputs are FP32 in any case: what is
/// cast there is not cast inside.
std::optional<IslandGraph::Vertex> IslandGraph::vertexOf(Operation *op) const {
  NodeSet node;
  if (nodes.add(op, node))
    return node.front();
  if (wideBorders && op->hasTrait<OpTrait::IsTerminator>() &&
      isa<FunctionOpInterface>(op->getParentOp()))
    return std::nullopt;
  return sink;
}

void IslandGraph::addReaders(Value value,
                             llvm::SetVector<Vertex> &readers) const {
  for (Operation *user : value.getUsers())
    if (isInserted(user))
      addReaders(user->getResult(0), readers);
    else if (std::optional<Vertex> reader = vertexOf(user))
      readers.insert(*reader);
}

void IslandGraph::addValue(Value value, Vertex maker) {
  if (!isa<FloatType>(getElementType(value)))
    return;
  llvm::SetVector<Vertex> readers;
  addReaders(value, readers);
  readers.remove(maker);
  if (readers.empty())
    return;
  Vertex down = graph.addVertex(), up = graph.addVertex();
  int64_t price = Prices::ofCast(value);
  graph.addEdge(maker, down, price);
  graph.addEdge(up, maker, price);
  for (Vertex reader : readers) {
    graph.addEdge(down, reader, FlowGraph::kInfinite);
    graph.addEdge(reader, up, FlowGraph::kInfinite);
  }
}

NodeSet IslandGraph::cut() {
  llvm::BitVector side = graph.cut(source, sink);
  NodeSet wide;
  for (Node node = 0; node < nodes.size(); ++node)
    if (side.test(node))
      wide.insert(node);
  return wide;
}

NodeSet mpopt::findCheaperInside(ModuleOp module, const Nodes &nodes,
                                 const Prices &prices,
                                 const llvm::DenseSet<Node> &kept,
                                 bool wideBorders) {
  NodeSet wide = IslandGraph(module, nodes, prices, kept, wideBorders).cut();
  wide.remove_if([&](Node node) { return kept.contains(node); });
  return wide;
}
