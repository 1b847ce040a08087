//===- SymbolicOps.cpp - Arithmetic on sizes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphReader.h"

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;
namespace json = llvm::json;

/// The operator of TorchScript that computes the same of numbers; empty if
/// there is none.
static StringRef findNumberOp(StringRef target) {
  static const llvm::StringMap<StringRef> ops = {
      {"_operator.add", "aten::add"},
      {"_operator.sub", "aten::sub"},
      {"_operator.mul", "aten::mul"},
      {"_operator.floordiv", "aten::floordiv"},
      {"_operator.mod", "aten::remainder"},
      {"_operator.truediv", "aten::div"},
      {"_operator.pow", "aten::pow"},
      {"_operator.neg", "aten::neg"},
      {"_operator.eq", "aten::eq"},
      {"_operator.ne", "aten::ne"},
      {"_operator.lt", "aten::lt"},
      {"_operator.le", "aten::le"},
      {"_operator.gt", "aten::gt"},
      {"_operator.ge", "aten::ge"},
      {"_operator.and_", "aten::__and__"},
      {"_operator.or_", "aten::__or__"},
      {"_operator.lshift", "aten::__lshift__"},
      {"_operator.rshift", "aten::__rshift__"},
      {"math.trunc", "aten::Int"},
      {"math.ceil", "aten::ceil"},
      {"math.floor", "aten::floor"},
      {"torch.sym_int", "aten::Int"},
      {"torch.sym_float", "aten::Float"},
      {"torch.sym_not", "aten::__not__"},
      {"torch.sym_max", "prim::max"},
      {"torch.sym_min", "prim::min"},
      {"torch.sym_sqrt", "aten::sqrt"},
      {"torch._sym_sqrt", "aten::sqrt"},
      {"torch.sym_ite", "aten::sym_ite"},
      {"torch.ops.aten.sym_size.int", "aten::size"},
      {"torch.ops.aten.sym_numel.default", "aten::numel"},
  };
  return ops.lookup(target);
}

bool GraphReader::addSymbolic(const json::Object &from, StringRef target,
                              Scope &scope, aten::GraphBlock &block) {
  StringRef op = findNumberOp(target);
  if (op.empty())
    return false;
  aten::Node node;
  readProvenance(from, node);
  node.op = op.str();
  for (const json::Value &input : getArray(from, "inputs", damage)) {
    const json::Object &fields = asObject(input, "inputs", damage);
    const json::Value *argument = fields.get("arg");
    if (!argument) {
      damage.report("has an input without a value");
      return true;
    }
    node.inputs.push_back(readArgument(*argument, scope, block));
    node.arguments.push_back(fields.getString("name").value_or("").str());
    node.writes.push_back(false);
    node.shares.push_back(false);
  }
  finish(std::move(node), from, scope, block);
  return true;
}
