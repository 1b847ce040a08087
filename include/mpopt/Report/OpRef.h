//===- OpRef.h - An op as reports name it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_OPREF_H
#define MPOPT_REPORT_OPREF_H

#include <string>

namespace mpopt {

/// An op in the model's words.
struct OpRef {
  std::string name;
  std::string type;
  /// Path of graph, function and branch; empty for the main graph.
  std::string scope;
  /// The mp op, or the composite that it is a part of (`layer_norm`), whatever
  /// the model's format.
  std::string kind = {};
};

} // namespace mpopt

#endif // MPOPT_REPORT_OPREF_H
