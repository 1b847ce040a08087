//===- Signature.cpp - The type variables of a node
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Signature.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;

const Slot *Signature::at(llvm::ArrayRef<Slot> slots, bool isVariadic,
                          unsigned index) {
  if (index < slots.size())
    return &slots[index];
  return isVariadic && !slots.empty() ? &slots.back() : nullptr;
}

bool Signature::hasInput(StringRef variable) const {
  return llvm::any_of(
      inputs, [&](const Slot &slot) { return slot.variable == variable; });
}

/// `tensor(float)`, and what holds it: `seq(tensor(float))`.
static uint8_t readType(StringRef text) {
  while (text.consume_front("seq(") || text.consume_front("optional("))
    text.consume_back(")");
  return llvm::StringSwitch<uint8_t>(text)
      .Case("tensor(float)", kTakesFloat)
      .Case("tensor(float16)", kTakesHalf)
      .Case("tensor(bfloat16)", kTakesBfloat)
      .Case("tensor(int64)", kTakesInt64)
      .Default(kTakesOther);
}

static void readSlots(const std::vector<onnx::OpSchema::FormalParameter> &list,
                      llvm::SmallVector<Slot> &slots, bool &isVariadic) {
  for (const onnx::OpSchema::FormalParameter &parameter : list) {
    Slot &slot = slots.emplace_back();
    slot.variable = parameter.GetTypeStr();
    for (const std::string *type : parameter.GetTypes())
      slot.accepts |= readType(*type);
    isVariadic = parameter.GetOption() == onnx::OpSchema::Variadic;
    slot.isFree = isVariadic && !parameter.GetIsHomogeneous();
  }
}

static void readSlots(StringRef row, llvm::SmallVector<Slot> &slots,
                      bool &isVariadic) {
  llvm::SmallVector<StringRef> words;
  row.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    isVariadic = word.consume_back("...");
    auto [variable, letters] = word.rsplit(':');
    Slot &slot = slots.emplace_back();
    slot.variable = variable;
    for (char letter : letters)
      slot.accepts |= letter == 'f'   ? kTakesFloat
                      : letter == 'h' ? kTakesHalf
                      : letter == 'b' ? kTakesBfloat
                      : letter == 'l' ? kTakesInt64
                                      : kTakesOther;
  }
}

namespace {
struct ContribRow {
  StringRef name, inputs, outputs;
};
} // namespace

static constexpr ContribRow kContrib[] = {
#define MPOPT_CONTRIB(Name, Inputs, Outputs) {Name, Inputs, Outputs},
#include "ContribTypes.def"
#undef MPOPT_CONTRIB
};

bool convert::isContribOp(StringRef type) {
  return llvm::any_of(kContrib,
                      [&](const ContribRow &row) { return row.name == type; });
}

const Signature *Signatures::find(const onnx::NodeProto &node,
                                  const onnx_import::OpsetMap &opsets) {
  if (const onnx::OpSchema *schema = onnx_import::findSchema(node, opsets)) {
    auto [it, isNew] = known.try_emplace(schema);
    if (isNew) {
      readSlots(schema->inputs(), it->second.inputs,
                it->second.isInputVariadic);
      readSlots(schema->outputs(), it->second.outputs,
                it->second.isOutputVariadic);
    }
    return &it->second;
  }
  StringRef domain = onnx_import::normalizeDomain(node.domain());
  if (domain != "com.microsoft" && !domain.empty())
    return nullptr;
  const auto *row = llvm::find_if(kContrib, [&](const ContribRow &candidate) {
    return candidate.name == node.op_type();
  });
  if (row == std::end(kContrib))
    return nullptr;
  auto [it, isNew] = known.try_emplace(row);
  if (isNew) {
    readSlots(row->inputs, it->second.inputs, it->second.isInputVariadic);
    readSlots(row->outputs, it->second.outputs, it->second.isOutputVariadic);
  }
  return &it->second;
}
