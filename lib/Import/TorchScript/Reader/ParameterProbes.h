//===- ParameterProbes.h - Probes on gradients of parameters ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PARAMETERPROBES_H
#define MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PARAMETERPROBES_H

#include "mpopt/Import/TorchScript/PlacedProbe.h"

#include <torch/csrc/jit/ir/ir.h>

#include <map>

namespace mpopt::torchscript {

class ParameterProbes {
public:
  ParameterProbes(torch::jit::Graph &graph, std::string ledgerHash,
                  FindLists findLists);

  /// `value` reads a parameter of the module. `cast` is the probe on what
  /// autocast or the file makes of it in 16 bits, `plain` the one on it as it
  /// is; -1: none, so that the other one is for all uses. A parameter that the
  /// method writes to gets none.
  void insert(torch::jit::Value *value, int64_t cast, int64_t plain);

private:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;
  using Path = std::vector<std::string>;
  struct Uses {
    /// By the lists that the op is on.
    std::map<std::pair<bool, bool>, std::vector<torch::jit::Use>> listed;
    std::vector<torch::jit::Use> plain;
  };

  void collect(torch::jit::Block &block);
  AutocastLists listsOf(const Node *node) const;
  bool isCast(const Node *node) const;
  /// True if what reorders elements of a parameter is cast afterwards.
  bool leadsToCast(const Node *view) const;
  /// Lists the uses of a parameter, and puts probes on casts of it and of views
  /// of it (`isView`), of which other uses are left out.
  void findUses(Value *value, bool isView, int64_t cast, Uses &uses);
  Value *read(const Path &path);
  Value *addProbe(Value *value, int64_t id);
  Value *addCast(Value *value, AutocastLists lists);

  torch::jit::Graph &graph;
  std::string ledgerHash;
  FindLists findLists;
  /// The values that read an attribute, by its path.
  std::map<Path, std::vector<Value *>> reads;
  /// The method has autocast regions of its own, whose ops the state of the
  /// thread does not describe.
  bool hasRegions = false;
};

} // namespace mpopt::torchscript

#endif // MPOPT_LIB_IMPORT_TORCHSCRIPT_READER_PARAMETERPROBES_H
