//===- GraphReader.h - The graph of a program to one of aten ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts, one file each: GraphReader.cpp (nodes), Arguments.cpp (what they
// read), HigherOrder.cpp (operators that take graphs), SymbolicOps.cpp
// (Python's arithmetic on sizes).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_GRAPHREADER_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_GRAPHREADER_H

#include "Document.h"
#include "Fields.h"
#include "TensorMeta.h"

#include "mpopt/Import/Aten/Graph.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace mpopt::exported {

using Kind = aten::StaticType::Kind;

class GraphReader {
public:
  GraphReader(aten::Graph &graph, const std::map<std::string, int64_t> &dims,
              Damage &damage)
      : graph(graph), dims(dims), damage(damage) {}

  /// The values of one graph by name: graphs inside others have names of their
  /// own.
  struct Scope {
    const llvm::json::Object *tensors = nullptr; ///< `tensor_values`
    /// Holds nodes and types of the main graph instead, if they are apart.
    const Document *parts = nullptr;
    llvm::StringMap<aten::ValueId> values;
    std::string prefix; ///< of names in this graph (`true_graph_0.`)
  };

  /// Enters the graph: its values may be defined from now on.
  Scope open(const llvm::json::Object &from, std::string prefix);
  /// A value of this graph, which gets a name of its own.
  aten::ValueId define(Scope &scope, llvm::StringRef name, Kind kind);
  /// Reads its nodes, to the end of `block`.
  void readNodes(const llvm::json::Object &from, Scope &scope,
                 aten::GraphBlock &block);
  /// The value of that name. A parameter or buffer that is read for the first
  /// time becomes a node.
  aten::ValueId find(Scope &scope, llvm::StringRef name,
                     aten::GraphBlock &block);
  /// The value that a node of `block` reads; constants become nodes.
  aten::ValueId readArgument(const llvm::json::Value &argument, Scope &scope,
                             aten::GraphBlock &block);
  aten::ValueId addConstant(aten::Constant value, aten::GraphBlock &block);

  /// Sets how the value is found in the file: by its name in that graph.
  void place(const Scope &scope, llvm::StringRef name, aten::ValueId id);
  /// Names a result of the program as its main graph does, also where a graph
  /// inside of it computes it.
  void nameResult(llvm::StringRef name, aten::ValueId id);

  /// The names of parameters and buffers, with their paths: each is read before
  /// the first node that uses it.
  llvm::StringMap<std::string> state;

private:
  // Arguments.cpp
  aten::ValueId readList(const Choice &list, Scope &scope,
                         aten::GraphBlock &block);
  std::optional<aten::Constant> readLiteral(const Choice &argument);
  aten::ValueId addList(llvm::ArrayRef<aten::ValueId> members, Kind element,
                        aten::GraphBlock &block);
  aten::ValueId addValue(std::string name, aten::StaticType type);
  std::string uniqueName(std::string name);

  // GraphReader.cpp
  /// False after damage.
  bool addNode(const llvm::json::Value &value, Scope &scope,
               aten::GraphBlock &block);
  void readNode(const llvm::json::Object &from, Scope &scope,
                aten::GraphBlock &block);
  void readProvenance(const llvm::json::Object &from, aten::Node &node);
  /// Adds the inputs by the schema's names, those left out by their default.
  void readInputs(const llvm::json::Object &from, llvm::StringRef op,
                  aten::Node &node, Scope &scope, aten::GraphBlock &block);
  void addOperator(const llvm::json::Object &from, llvm::StringRef op,
                   Scope &scope, aten::GraphBlock &block);
  /// Adds the node with a value for each output, and unpacks lists.
  void finish(aten::Node node, const llvm::json::Object &from, Scope &scope,
              aten::GraphBlock &block);
  void readOutput(const llvm::json::Value &output, const std::string &listName,
                  aten::Node &node, Scope &scope,
                  std::vector<aten::Node> &unpacks);

  // SymbolicOps.cpp
  /// True if `target` is arithmetic of Python on sizes.
  bool addSymbolic(const llvm::json::Object &from, llvm::StringRef target,
                   Scope &scope, aten::GraphBlock &block);

  // HigherOrder.cpp
  using Operands = llvm::SmallVector<aten::ValueId>;
  struct Body {
    const llvm::json::Object *graph = nullptr;
    std::string name;
  };
  /// The arguments of a higher-order operator: its graphs, and what stands
  /// between and behind them.
  struct Call {
    const llvm::json::Object *node;
    std::vector<Body> bodies;
    std::vector<Choice> arguments; ///< all but the graphs
    aten::Node like;               ///< line and module
  };
  void addHigherOrder(const llvm::json::Object &from, llvm::StringRef op,
                      Scope &scope, aten::GraphBlock &block);
  Operands readOperands(const Choice &argument, Scope &scope,
                        aten::GraphBlock &block);
  Operands readOperands(llvm::ArrayRef<Choice> arguments, Scope &scope,
                        aten::GraphBlock &block);
  /// Adds the nodes of a body to `block`; its results.
  Operands inlineBody(const Body &body, llvm::ArrayRef<aten::ValueId> operands,
                      const Scope &outer, aten::GraphBlock &block);
  /// Gives the names of the node's outputs to these values.
  void bind(const Call &call, llvm::ArrayRef<aten::ValueId> values,
            Scope &scope);
  /// Nothing reads an output without a name.
  aten::ValueId defineOutput(Scope &scope, llvm::StringRef name, Kind kind);
  aten::ValueId addInteger(int64_t value, aten::GraphBlock &block);
  aten::ValueId addNode(const Call &call, std::string op,
                        llvm::ArrayRef<aten::ValueId> inputs,
                        llvm::ArrayRef<llvm::StringRef> arguments,
                        aten::StaticType type, aten::GraphBlock &block);
  aten::ValueId addTruth(const Call &call, aten::ValueId value,
                         aten::GraphBlock &block);
  void addCond(const Call &call, Scope &scope, aten::GraphBlock &block);
  void addWhile(const Call &call, Scope &scope, aten::GraphBlock &block);
  void addScan(const Call &call, bool isMap, Scope &scope,
               aten::GraphBlock &block);
  /// A scan as a loop.
  struct Scan;
  Operands addRoundArguments(Scan &scan, const Operands &carried,
                             const Operands &scanned);
  aten::ValueId addResultList(Scan &scan, aten::ValueId value);
  void addResultTensor(Scan &scan, aten::ValueId value, llvm::StringRef name);
  void addStack(const Scan &scan, aten::ValueId list, llvm::StringRef name);
  void addAutocast(const Call &call, Scope &scope, aten::GraphBlock &block);
  void addCall(const Call &call, Scope &scope, aten::GraphBlock &block);

  aten::Graph &graph;
  const std::map<std::string, int64_t> &dims;
  Damage &damage;
  llvm::StringMap<unsigned> names; ///< how often each was given
  /// The values of each graph inside of another, by its prefix, and how often
  /// it was read.
  struct Inlined {
    unsigned count = 0;
    std::vector<aten::ValueId> values;
  };
  llvm::StringMap<Inlined> inlined;
  size_t numNodes = 0;
};

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_GRAPHREADER_H
