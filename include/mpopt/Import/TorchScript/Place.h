//===- Place.h - Where a tensor is in a TorchScript graph -------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The importer names tensors; a probe has to find the JIT's value behind a
// name. Names of values are those of the inlined graph, which is the same each
// time that an archive is read. Standard library only, as Graph.h.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_PLACE_H
#define MPOPT_IMPORT_TORCHSCRIPT_PLACE_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpopt::torchscript {

struct Place {
  /// The JIT's name of the value; empty for an input.
  std::string value;
  /// Number of the input, `self` not counted.
  int64_t input = -1;
  /// Of nested tuples and lists, outermost first.
  std::vector<int64_t> members;
  /// Of a value in loops that the importer unrolled: the name of each loop's
  /// counter, and its count in that round, outermost first.
  std::vector<std::pair<std::string, int64_t>> rounds;

  bool operator==(const Place &) const = default;
};

/// By the tensor's name. More than one place: the name means several values.
/// None: the code names tensors so that the module has no value for.
using Places = std::map<std::string, std::vector<Place>>;

struct PlacedProbe {
  int64_t id;
  Place place;
  int64_t channelAxis = -1; ///< Ranges by channel; -1: none.
};

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_PLACE_H
