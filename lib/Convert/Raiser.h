//===- Raiser.h - A node of a later opset -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_RAISER_H
#define MPOPT_LIB_CONVERT_RAISER_H

#include "Graph.h"

#include <set>

namespace mpopt::convert {

/// Rules go from the one opset up to the other. Before, elements were paired by
/// attributes.
inline constexpr int64_t kFirstOpset = 7;
inline constexpr int64_t kLastOpset = 24; // of onnx 1.19 to 1.21

/// One node on its way to a later opset.
class Raiser {
public:
  Raiser(std::set<std::string> &names, onnx::NodeProto &node)
      : names(names), node(node) {}

  onnx::AttributeProto *find(llvm::StringRef name);
  int64_t getInt(llvm::StringRef name, int64_t otherwise);
  void drop(llvm::StringRef name);
  void setText(llvm::StringRef name, llvm::StringRef text);
  void setInt(llvm::StringRef name, int64_t number);
  /// An attribute as the operand of that index; true if it was there.
  bool moveInts(llvm::StringRef name, int index, bool isScalar = false);
  bool moveFloats(llvm::StringRef name, int index, bool isScalar = false);
  void setInput(int index, const std::string &name);
  void addFloats(int index, llvm::ArrayRef<float> numbers, bool isScalar);
  void addInts(int index, llvm::ArrayRef<int64_t> numbers, bool isScalar);
  std::string makeName(llvm::StringRef wanted);
  void refuse(const llvm::Twine &why) { fault = why.str(); }

  std::set<std::string> &names;
  onnx::NodeProto &node;
  NodeList before, after;
  /// The type of the first operand; null if it is not known.
  const onnx::TypeProto_Tensor *type = nullptr;
  /// The numbers of a constant operand; null if it is none.
  std::function<const onnx::TensorProto *(llvm::StringRef)> constant;
  std::string fault;

private:
  onnx::TensorProto &addConstant(int index, int32_t dtype, bool isScalar,
                                 int64_t count);
};

struct OpsetRule {
  int64_t since;
  llvm::StringRef op;
  void (*apply)(Raiser &);
};

/// In the order of opsets.
llvm::ArrayRef<OpsetRule> getOpsetRules();

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_RAISER_H
