//===- Autocast.cpp - with torch.autocast(...): ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scripted region is an object of a class whose name ends in `autocast`, its
// fields set by the inlined constructor, between prim::Enter and prim::Exit.
// Ops inside carry `mp.autocast`: the dtype, or `false` where it is switched
// off. What autocast then does to them is the precision transform's matter.
// Older classes: torch.cuda.amp, torch.cpu.amp, torch.autocast_mode (source:
// torch/csrc/jit/passes/autocast.cpp, isAutocastNode).
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static const Item *findField(const Item &object, StringRef name) {
  if (!object.collection)
    return nullptr;
  const std::vector<Item> &members = object.collection->items;
  for (size_t index = 0; index + 1 < members.size(); index += 2)
    if (members[index].text == name)
      return &members[index + 1];
  return nullptr;
}

void GraphImporter::enter(const Item &object) {
  AutocastState now = autocast.empty() ? AutocastState() : autocast.back();
  bool isAutocast = object.kind == Item::Kind::Object &&
                    StringRef(object.text).ends_with("autocast");
  if (isAutocast) {
    now.isSet = true;
    const Item *enabled = findField(object, "_enabled");
    now.enabled = !enabled || !enabled->isStatic() || enabled->integer;
    const Item *device = findField(object, "device");
    now.device = device ? device->text : std::string("cuda");
    if (autocastDevice.empty())
      autocastDevice = now.device;
    const Item *dtype = findField(object, "fast_dtype");
    mlir::Type type;
    if (dtype && dtype->isStatic())
      type = NodeContext::elementTypeOf(context, dtype->integer);
    // The default: float16, on a CPU bfloat16.
    if (!type)
      type = now.device == "cpu" ? mlir::Type(builder.getBF16Type())
                                 : mlir::Type(builder.getF16Type());
    now.dtype = type;
  }
  autocast.push_back(now);
}

void GraphImporter::exit() {
  if (!autocast.empty())
    autocast.pop_back();
}

void GraphImporter::markAutocast(Operation *op) const {
  if (autocast.empty() || !autocast.back().isSet || isa<mp::ConstantOp>(op))
    return;
  const AutocastState &now = autocast.back();
  op->setAttr("mp.autocast", now.enabled ? Attribute(TypeAttr::get(now.dtype))
                                         : BoolAttr::get(context, false));
}

/// A part that computes: what autocast may cast the operands of.
static mpopt::PrecisionOpInterface asPart(Operation *op) {
  if (isa<mp::ConstantOp, mp::CastOp>(op) || op->getNumRegions())
    return {};
  return dyn_cast<mpopt::PrecisionOpInterface>(op);
}

/// Have a kernel of their own, whatever they become here: if no list names
/// them, none is for their parts.
static constexpr StringRef kKernels[] = {"dot",
                                         "inner",
                                         "logaddexp",
                                         "logaddexp2",
                                         "logit",
                                         "nanmean",
                                         "nansum",
                                         "native_group_norm",
                                         "special_xlog1py",
                                         "tensordot",
                                         "trace",
                                         "vdot",
                                         "xlogy"};

void GraphImporter::markParts(const Node &node, Value self, Operation *first) {
  StringRef name = node.op;
  bool isQuantized = name.consume_front("quantized::");
  name.consume_front("aten::");
  std::string listed = name.str();
  if (!node.overload.empty())
    listed += "." + node.overload;
  unsigned parts = 0, named = 0;
  for (Operation *op = first; op; op = op->getNextNode())
    if (PrecisionOpInterface part = asPart(op)) {
      ++parts;
      named += llvm::is_contained(part.getFrameworkNames(Framework::PyTorch),
                                  StringRef(listed));
    }
  // In-place forms and quantised ops are registered with no autocast list.
  bool isUnlisted = self || isQuantized;
  // `sum(dtype=...)`: autocast sets the dtype only where none is given.
  for (auto [argument, input] : llvm::zip(node.arguments, node.inputs))
    isUnlisted |= argument == "dtype" && !items[input].isNone() && parts;
  bool isKernel = llvm::is_contained(kKernels, name);
  // One op that has no such name is judged by its own.
  if (!isUnlisted && !isKernel && (parts < 2 || parts == named))
    return;
  for (Operation *op = first; op; op = op->getNextNode()) {
    if (!asPart(op))
      continue;
    op->setAttr("mp.listed_as",
                builder.getStringAttr(isUnlisted ? std::string() : listed));
    if (isKernel)
      op->setAttr("mp.kernel", builder.getUnitAttr());
    for (OpOperand &operand : op->getOpOperands())
      if (self && operand.get() == self && !op->hasAttr("mp.keeps"))
        op->setAttr("mp.keeps",
                    builder.getI64IntegerAttr(operand.getOperandNumber()));
  }
}
