//===- ProbeInserter.h - Probe nodes in a JIT graph -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PROBEINSERTER_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PROBEINSERTER_H

#include "mpopt/Import/TorchScript/PlacedProbe.h"

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <unordered_map>

namespace mpopt::torchscript {

/// Throws where a place is not in the graph.
class ProbeInserter {
public:
  ProbeInserter(torch::jit::Graph &graph, std::string ledgerHash,
                FindLists findLists);

  void insert(const std::vector<PlacedProbe> &probes);

private:
  using Value = torch::jit::Value;

  /// Where the value is made.
  void setInsertPoint(const Value *value);
  Value *find(const GraphPlace &place) const;
  /// Follows members of tuples; those of a list are left.
  Value *unpack(Value *value, std::vector<int64_t> &members);
  void insertOne(Value *value, const PlacedProbe &probe);
  /// All later uses read a value whose gradient is recorded; returns one that
  /// needs none.
  Value *insertGradient(Value *value, int64_t id);
  void insertParameters(const std::vector<PlacedProbe> &probes);
  /// Rows of one `probe_members`, by the value and its loops' counters.
  using RowKey = std::pair<Value *, std::vector<std::string>>;
  void insertTable(const RowKey &key, const std::vector<int64_t> &table);
  /// All calls from there on have one step.
  void insertBeginRun();
  void addNode(const char *op, std::vector<Value *> inputs,
               const Value *probed);
  void collect(torch::jit::Block &block);

  torch::jit::Graph &graph;
  std::string ledgerHash;
  FindLists findLists;
  std::unordered_map<std::string, Value *> values;
};

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PROBEINSERTER_H
