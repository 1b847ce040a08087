//===- EinsumOps.cpp - Index equations ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/LinearOps.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

static std::optional<std::string> parseTerm(StringRef text) {
  std::string labels;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (StringRef(labels).contains('.'))
        return std::nullopt;
      labels += '.';
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return std::nullopt;
    labels += text.front();
    text = text.drop_front();
  }
  return labels;
}

std::optional<EinsumEquation> EinsumEquation::parse(StringRef text) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact),
                [](char c) { return !llvm::isSpace(c); });
  EinsumEquation equation;
  auto [left, right] = StringRef(compact).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  std::map<char, int> uses;
  for (StringRef term : terms) {
    std::optional<std::string> labels = parseTerm(term);
    if (!labels)
      return std::nullopt;
    for (char label : *labels)
      ++uses[label];
    equation.operands.push_back(std::move(*labels));
  }
  if (StringRef(compact).contains("->")) {
    std::optional<std::string> labels = parseTerm(right);
    if (!labels)
      return std::nullopt;
    for (char label : *labels)
      if (label != '.' &&
          (!uses.count(label) || llvm::count(*labels, label) > 1))
        return std::nullopt;
    equation.result = std::move(*labels);
    return equation;
  }
  // '.' sorts before the letters.
  for (auto [label, count] : uses)
    if (label == '.' || count == 1)
      equation.result += label;
  return equation;
}

LogicalResult EinsumOp::verify() {
  std::optional<EinsumEquation> equation = EinsumEquation::parse(getEquation());
  if (!equation)
    return emitOpError("equation '") << getEquation() << "' is malformed";
  if (equation->operands.size() != getInputs().size())
    return emitOpError("equation has ")
           << equation->operands.size() << " terms for " << getInputs().size()
           << " operands";
  for (auto [labels, input] : llvm::zip(equation->operands, getInputs())) {
    MaybeShape shape = getShape(input);
    if (!shape)
      continue;
    bool ellipsis = StringRef(labels).contains('.');
    size_t named = labels.size() - ellipsis;
    if (ellipsis ? shape->size() < named : shape->size() != named)
      return emitOpError("term '")
             << labels << "' does not fit " << input.getType();
  }
  return success();
}

LogicalResult EinsumOp::inferResultTypes(const ShapeFacts &,
                                         SmallVectorImpl<Type> &types) {
  if (failed(verify()))
    return failure();
  EinsumEquation equation = *EinsumEquation::parse(getEquation());
  std::map<char, int64_t> dims;
  MaybeShape ellipsis = Shape();
  Type element = UnknownType::get(getContext());
  for (auto [labels, input] : llvm::zip(equation.operands, getInputs())) {
    element = promoteElementTypes(element, getElementType(input));
    MaybeShape shape = getShape(input);
    if (!shape) {
      if (StringRef(labels).contains('.'))
        ellipsis = std::nullopt;
      continue;
    }
    ArrayRef<int64_t> rest = *shape;
    size_t covered = shape->size() + 1 - labels.size();
    for (char label : labels) {
      if (label == '.') {
        FailureOr<MaybeShape> joined =
            broadcastShapes(ellipsis, Shape(rest.take_front(covered)));
        if (failed(joined))
          return emitOpError("dims under the ellipsis do not broadcast");
        ellipsis = *joined;
        rest = rest.drop_front(covered);
        continue;
      }
      auto [entry, isNew] = dims.try_emplace(label, rest.front());
      std::optional<int64_t> joined = broadcastDim(entry->second, rest.front());
      if (!joined)
        return emitOpError("label '")
               << StringRef(&label, 1) << "' is both " << entry->second
               << " and " << rest.front();
      entry->second = *joined;
      rest = rest.drop_front();
    }
  }
  MaybeShape result = Shape();
  for (char label : equation.result) {
    if (label == '.' && !ellipsis) {
      result = std::nullopt;
      break;
    }
    if (label == '.')
      result->append(*ellipsis);
    else
      result->push_back(dims.count(label) ? dims[label] : kDynamic);
  }
  types.push_back(getTensorType(result, element));
  return success();
}
