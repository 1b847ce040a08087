//===- Names.cpp - What reports call values and ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Names.h"

#include "mpopt/Dialect/ModuleNames.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

std::string mpopt::getDtypeName(Type elementType) {
  if (isa<mp::UnknownType>(elementType))
    return "unknown";
  if (isa<mp::StringType>(elementType))
    return "string";
  if (elementType.isF16())
    return "f16";
  if (elementType.isBF16())
    return "bf16";
  std::string name;
  llvm::raw_string_ostream(name) << elementType;
  return name;
}

// The path of a body, which its ops have; an empty one has none. What a pass
// put in front may be called after the op around it, whose scope is outside.
static StringRef getScopeOf(Block &body) {
  StringRef outer = getScope(body.getParentOp());
  for (Operation &op : body)
    if (StringRef scope = getScope(&op); !scope.empty() && scope != outer)
      return scope;
  return body.empty() ? StringRef() : getScope(&body.front());
}

// The path of the body in which a value has its name.
static StringRef getScopeOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return getValueScope(op);
  Block *block = cast<BlockArgument>(value).getOwner();
  if (block->isEntryBlock() && isa<FunctionOpInterface>(block->getParentOp()))
    return {};
  return getScopeOf(*block);
}

std::string mpopt::getTensorPath(Value value) {
  StringRef name = getValueName(value);
  if (name.empty())
    return {};
  StringRef scope = getScopeOf(value);
  return scope.empty() ? name.str() : (scope + "/" + name).str();
}

std::string mpopt::getTensorName(Value value) {
  while (true) {
    if (std::string name = getTensorPath(value); !name.empty())
      return name;
    auto cast = value.getDefiningOp<mp::CastOp>();
    if (!cast || cast.getOrigin() == mp::CastOrigin::Model)
      return {};
    value = cast.getInput();
  }
}

std::string mpopt::getOpName(Operation *op) {
  StringRef name = getNodeName(op);
  return (name.empty() ? op->getName().getStringRef() : name).str();
}

std::string mpopt::getModuleName(Operation *op, Value parameter) {
  std::string name = getTensorName(parameter);
  auto [module, last] = StringRef(name).rsplit('.');
  if (!last.empty() && !StringRef(name).contains("::"))
    return module.str();
  std::string path =
      StringRef(getOpName(op)).ltrim('/').rsplit('/').first.str();
  llvm::replace(path, '/', '.');
  return path;
}

std::string mpopt::getOpType(Operation *op) {
  StringRef type = getNodeType(op);
  return (type.empty() ? op->getName().getStringRef() : type).str();
}

std::string mpopt::getInputName(BlockArgument input) {
  std::string name = getValueName(input).str();
  return name.empty() ? "arg" + std::to_string(input.getArgNumber()) : name;
}
