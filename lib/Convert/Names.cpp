//===- Names.cpp - In which types a value is there
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rewriter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;

Width Rewriter::widthOf(const Group *group) {
  return Model::isWide(const_cast<Group *>(group)) ? kWide : kLow;
}

/// A value whose type is not known is taken for what its readers in FP32 take.
Width Rewriter::widthOf(const Value &value) {
  return value.def ? widthOf(value.def) : kWide;
}

/// True if the value may be there in two types.
bool Rewriter::isTyped(const Value &value) {
  return value.def || value.constant || value.kind.dtype == 0;
}

static bool isLive(const Use &use) {
  return use.node ? use.node->isLive
                  : !use.graph->owner || use.graph->owner->isLive;
}

void Rewriter::findNeeds(Value &value) {
  if (!value.constant)
    value.isNeeded[widthOf(value)] = true;
  if (!isTyped(value))
    return;
  for (const Use &use : value.uses) {
    if (!isLive(use))
      continue;
    // A body casts what it gives of the graphs around it itself.
    bool isOwnCast = !use.node && use.graph != value.graph && !value.constant;
    if (!isOwnCast)
      value.isNeeded[use.group ? widthOf(use.group) : widthOf(value)] = true;
  }
}

std::string Graph::makeName(StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned count = 1; !frame->names.insert(name).second; ++count)
    name = (wanted + "_" + llvm::Twine(count)).str();
  return name;
}

std::string Rewriter::typeOf(Width width) const {
  return width == kWide ? "f32" : model.low == kTakesHalf ? "f16" : "bf16";
}

std::string Rewriter::makeTwinName(Value &value, Width width) {
  StringRef suffix = width == kWide            ? "_fp32"
                     : model.low == kTakesHalf ? "_fp16"
                                               : "_bf16";
  return value.graph->makeName(value.name + suffix.str());
}

void Rewriter::nameValue(Value &value) {
  Width own = widthOf(value);
  if (value.constant && !value.isNeeded[kWide])
    own = kLow;
  // An output of the model has its name in the type that it has there.
  for (const Use &use : value.uses)
    if (!use.node && use.graph->isMain() && use.group)
      own = widthOf(use.group);
  for (Width width : {kLow, kWide})
    if (value.isNeeded[width])
      value.names[width] =
          width == own ? value.name : makeTwinName(value, width);
}

std::string Rewriter::nameFor(const Value &value, const Group *group) const {
  if (!isTyped(value))
    return value.name;
  return value.names[group ? widthOf(group) : widthOf(value)];
}
