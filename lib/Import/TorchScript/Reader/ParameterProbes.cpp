//===- ParameterProbes.cpp - Probes on gradients of parameters ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a parameter is looked at where the parameter enters an op.
// Ops that are on autocast's 16-bit list cast it themselves, behind any probe:
// the cast is made before them (`mpopt::autocast_operand`), once for all ops
// that are on the same lists, as autocast's cache has it. A cast that is in the
// file has its probe behind it. Every other use is of the parameter as it is.
//
//===----------------------------------------------------------------------===//

#include "ParameterProbes.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>

using namespace mpopt::torchscript;
namespace jit = torch::jit;

ParameterProbes::ParameterProbes(jit::Graph &graph, std::string ledgerHash,
                                 FindLists findLists)
    : graph(graph), ledgerHash(std::move(ledgerHash)),
      findLists(std::move(findLists)) {
  collect(*graph.block());
}

/// The attributes that lead from `self` to the value; empty if it is no
/// attribute.
static std::vector<std::string> pathOf(const jit::Value *value,
                                       const jit::Value *self) {
  std::vector<std::string> path;
  while (value != self) {
    if (value->node()->kind() != c10::prim::GetAttr)
      return {};
    path.push_back(value->node()->s(c10::attr::name));
    value = value->node()->input();
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void ParameterProbes::collect(jit::Block &block) {
  for (jit::Node *node : block.nodes()) {
    hasRegions |= node->kind() == c10::prim::Enter;
    if (node->kind() == c10::prim::GetAttr)
      if (Path path = pathOf(node->output(), graph.inputs().front());
          !path.empty())
        reads[path].push_back(node->output());
    for (jit::Block *inner : node->blocks())
      collect(*inner);
  }
}

AutocastLists ParameterProbes::listsOf(const Node *node) const {
  const c10::FunctionSchema *schema = node->maybeSchema();
  if (hasRegions || !schema || !node->kind().is_aten())
    return {};
  std::string name = node->kind().toUnqualString();
  if (!schema->overload_name().empty())
    name += "." + schema->overload_name();
  return findLists(name);
}

bool ParameterProbes::isCast(const Node *node) const {
  if (node->kind() != c10::aten::to || node->inputs().size() < 2)
    return false;
  auto dtype = jit::toIValue(node->inputs()[1]);
  return dtype && dtype->isInt() &&
         (dtype->toInt() == int64_t(at::kHalf) ||
          dtype->toInt() == int64_t(at::kBFloat16));
}

/// True for an op that gives the elements another order or shape.
static bool reorders(const jit::Node *node) {
  switch (node->kind()) {
  case c10::aten::t:
  case c10::aten::transpose:
  case c10::aten::permute:
  case c10::aten::numpy_T:
  case c10::aten::view:
  case c10::aten::reshape:
  case c10::aten::squeeze:
  case c10::aten::unsqueeze:
  case c10::aten::flatten:
    return true;
  default:
    return false;
  }
}

bool ParameterProbes::leadsToCast(const Node *view) const {
  for (const jit::Use &use : view->output()->uses())
    if (isCast(use.user) || listsOf(use.user).any() ||
        (reorders(use.user) && leadsToCast(use.user)))
      return true;
  return false;
}

ParameterProbes::Value *ParameterProbes::addProbe(Value *value, int64_t id) {
  jit::Node *node = graph.create(
      c10::Symbol::fromQualString("mpopt::probe_grad"),
      {value, graph.insertConstant(id), graph.insertConstant(ledgerHash)});
  node->setSourceRange(value->node()->sourceRange());
  return graph.insertNode(node)->output();
}

ParameterProbes::Value *ParameterProbes::addCast(Value *value,
                                                 AutocastLists lists) {
  jit::Node *node =
      graph.create(c10::Symbol::fromQualString("mpopt::autocast_operand"),
                   {value, graph.insertConstant(lists.cpu),
                    graph.insertConstant(lists.cuda)});
  node->setSourceRange(value->node()->sourceRange());
  return graph.insertNode(node)->output();
}

ParameterProbes::Value *ParameterProbes::read(const Path &path) {
  Value *value = graph.inputs().front();
  for (const std::string &name : path)
    value = graph.insertNode(graph.createGetAttr(value, name))->output();
  return value;
}

static bool isWritten(const jit::Use &use) {
  if (use.user->kind() == c10::prim::SetAttr)
    return true;
  const c10::FunctionSchema *schema = use.user->maybeSchema();
  if (!schema || use.offset >= schema->arguments().size())
    return false;
  const c10::AliasInfo *alias = schema->arguments()[use.offset].alias_info();
  return alias && alias->isWrite();
}

void ParameterProbes::findUses(Value *value, bool isView, int64_t cast,
                               Uses &uses) {
  std::vector<jit::Use> found = value->uses();
  for (const jit::Use &use : found) {
    AutocastLists lists = listsOf(use.user);
    if (lists.any() && isView) {
      graph.setInsertPoint(use.user);
      use.user->replaceInput(use.offset, addProbe(addCast(value, lists), cast));
    } else if (lists.any()) {
      uses.listed[{lists.cpu, lists.cuda}].push_back(use);
    } else if (isCast(use.user)) {
      Value *made = use.user->output();
      graph.setInsertPoint(use.user->next());
      Value *probed = addProbe(made, cast);
      made->replaceAllUsesAfterNodeWith(probed->node(), probed);
    } else if (reorders(use.user) && leadsToCast(use.user)) {
      findUses(use.user->output(), /*isView=*/true, cast, uses);
    } else if (!isView) {
      uses.plain.push_back(use);
    }
  }
}

void ParameterProbes::insert(Value *value, int64_t cast, int64_t plain) {
  Path path = pathOf(value, graph.inputs().front());
  if (path.empty() || value->type()->kind() != c10::TypeKind::TensorType)
    return;
  for (Value *read : reads[path])
    for (const jit::Use &use : read->uses())
      if (isWritten(use))
        return;
  if (cast < 0)
    cast = plain;
  if (plain < 0)
    plain = cast;
  Uses uses;
  for (Value *read : reads[path])
    findUses(read, /*isView=*/false, cast, uses);
  // Before all uses, whatever branches they are in.
  graph.setInsertPoint(*graph.nodes().begin());
  Value *parameter = read(path);
  for (const auto &[lists, listed] : uses.listed) {
    Value *probed =
        addProbe(addCast(parameter, {lists.first, lists.second}), cast);
    for (const jit::Use &use : listed)
      use.user->replaceInput(use.offset, probed);
  }
  if (uses.plain.empty())
    return;
  Value *probed = addProbe(parameter, plain);
  for (const jit::Use &use : uses.plain)
    use.user->replaceInput(use.offset, probed);
}
