//===- ConversionPlan.h - What of a model becomes low, as data --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions of the search for a mixed precision, which the writer of a
// format (lib/Convert) carries out. It shows neither IR nor protobuf.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_CONVERSIONPLAN_H
#define MPOPT_REPAIR_CONVERSIONPLAN_H

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// A node of the file. Nodes of one graph that share a name are decided
/// together.
struct PlannedNode {
  /// The path of the branch, body or function call that holds it, as
  /// `getScope` of its ops gives it; empty: the main graph.
  std::string scope;
  /// As `getNodeName` of its ops gives it: TYPE_INDEX where the file has none.
  std::string name;

  auto operator<=>(const PlannedNode &) const = default;
};

/// A node that computes in FP32.
struct WideNode {
  PlannedNode node;
  /// The operands and results that are FP32, by the names of their tensors,
  /// where the op has several type variables and not all of them stay; empty:
  /// all floats. What shares a type variable with one of them is FP32, too.
  std::vector<std::string> tensors;
  /// The reason, a phrase for reports: `past 65504: likely up to 2e5`.
  std::string why;
  /// The type of its op, and the line of the model's source, which files of
  /// PyTorch have; 0: not known.
  std::string type = {}, file = {};
  unsigned line = 0;
};

/// An input or output of the model that keeps its type.
struct WideBorder {
  std::string name;
  std::string why;
};

/// Nodes that it does not list become low where their op has a low form at the
/// model's opset, which is the writer's business, as are the casts.
struct ConversionPlan {
  /// `f16` or `bf16` (FloatFormat::byName).
  std::string low = "f16";
  std::vector<WideNode> wide;
  /// Beside those that the user names.
  std::vector<WideBorder> inputs, outputs;
  /// The largest expected error of an output with this plan
  /// (`effects[].expected_error`); nothing if it is not known.
  std::optional<double> expectedError;
};

} // namespace mpopt

#endif // MPOPT_REPAIR_CONVERSIONPLAN_H
