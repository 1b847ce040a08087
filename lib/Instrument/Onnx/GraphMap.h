//===- GraphMap.h - Where an ONNX file's graphs and values are --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_INSTRUMENT_ONNX_GRAPHMAP_H
#define MPOPT_LIB_INSTRUMENT_ONNX_GRAPHMAP_H

#include "mpopt/Support/ProtoWire.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace mpopt::onnx_instrument {

/// The length of a message that holds a graph, so that it can be changed.
struct LengthPrefix {
  uint64_t offset, size; ///< of the varint, as it was written
  uint64_t value;
  int parent; ///< index of the message around it; -1: the model
};

/// The main graph, or a body of an If, Loop or Scan below it.
struct Graph {
  std::string path; ///< as in tensor names; empty for the main graph
  uint64_t end = 0; ///< of its fields, where more can be put
  int prefix = -1;  ///< of its own length
  unsigned nodes = 0;
};

struct GraphInput {
  std::string name;
  WireField field;
  int prefix; ///< of the graph
};

struct GraphMap {
  std::vector<LengthPrefix> prefixes; ///< outer before inner
  std::vector<Graph> graphs;          ///< [0] is the main graph
  /// Index of its graph, by the name with the path of its body; kSeveral if
  /// values of two graphs are called so.
  llvm::StringMap<unsigned> values;
  static constexpr unsigned kSeveral = ~0u;
  int64_t irVersion = 0;
  int64_t opset = 0; ///< of the default domain, the newest if there are several
  bool importsProbes = false;
  /// The first name found that only probes have: of a function or an op
  /// `mpopt::Probe`, a node or a value. Empty if there is none.
  std::string probeName;
  /// Inputs of the main graph.
  std::vector<GraphInput> inputs;
  llvm::StringSet<> initializers;
};

/// The key of that entry.
inline constexpr llvm::StringLiteral kUndoKey = "mpopt.undo";
inline constexpr llvm::StringLiteral kDomain = "mpopt";

/// `file` is a serialised ModelProto.
llvm::Expected<GraphMap> mapGraphs(llvm::StringRef file);

/// The value of the metadata entry that the tail of a probed model has. Looks
/// at no graph.
llvm::Expected<std::optional<llvm::StringRef>> findUndo(llvm::StringRef file);

} // namespace mpopt::onnx_instrument

#endif // MPOPT_LIB_INSTRUMENT_ONNX_GRAPHMAP_H
