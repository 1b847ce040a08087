//===- GraphPlace.h - The place of a tensor in a graph ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The importer names tensors; a probe has to find the graph's value behind a
// name. Names of values are those of the graph as its reader gives it, which is
// the same each time that a file is read. Standard library only, as
// Aten/Graph.h.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_GRAPHPLACE_H
#define MPOPT_IMPORT_GRAPHPLACE_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpopt {

struct GraphPlace {
  /// The graph's name of the value; empty for an input.
  std::string value;
  /// Index of the input, `self` not counted; -1 if the value is no input.
  int64_t input = -1;
  /// The positions in nested tuples and lists, outermost first.
  std::vector<int64_t> members;
  /// For a value in loops that the importer unrolled: the name of each loop's
  /// counter, and its count in that round, outermost first.
  std::vector<std::pair<std::string, int64_t>> rounds;
  /// The file has one node for this and other values of the graph.
  bool repeats = false;

  bool operator==(const GraphPlace &) const = default;
};

/// Places by the tensor's name. Several places: the name stands for several
/// values. None: the module has no value for the name.
using GraphPlaces = std::map<std::string, std::vector<GraphPlace>>;

} // namespace mpopt

#endif // MPOPT_IMPORT_GRAPHPLACE_H
