//===- Origin.cpp - Where an op comes from
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Origin.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

static mp::OriginAttr getOrigin(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location))
    return dyn_cast_or_null<mp::OriginAttr>(fused.getMetadata());
  return {};
}

static Location makeOrigin(StringAttr node, StringAttr type, StringAttr scope,
                           ArrayRef<StringRef> values, Location source) {
  MLIRContext *context = node.getContext();
  SmallVector<StringAttr> names = llvm::map_to_vector(
      values, [&](StringRef text) { return StringAttr::get(context, text); });
  return FusedLoc::get({source},
                       mp::OriginAttr::get(context, node, type, scope, names),
                       context);
}

Location mpopt::makeOrigin(MLIRContext *context, StringRef node, StringRef type,
                           StringRef scope, ArrayRef<StringRef> values,
                           Location source) {
  auto string = [&](StringRef text) { return StringAttr::get(context, text); };
  return ::makeOrigin(string(node), string(type), string(scope), values,
                      source);
}

// A fused location around nothing, with the path as metadata. No source has
// one.
static StringAttr getValueScope(Location part) {
  auto fused = dyn_cast<FusedLoc>(part);
  return fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata())
               : StringAttr();
}

/// Where fusing left nothing else, the source was unknown.
static Location getSource(FusedLoc fused) {
  for (Location part : fused.getLocations())
    if (!getValueScope(part))
      return part;
  return UnknownLoc::get(fused.getContext());
}

Location mpopt::withValues(Location location, ArrayRef<StringRef> values) {
  mp::OriginAttr origin = getOrigin(location);
  if (!origin)
    return location;
  return ::makeOrigin(origin.getNode(), origin.getType(), origin.getScope(),
                      values, getSource(cast<FusedLoc>(location)));
}

Location mpopt::withValueScope(Location location, StringRef scope) {
  mp::OriginAttr origin = getOrigin(location);
  if (!origin || origin.getScope().getValue() == scope)
    return location;
  MLIRContext *context = location->getContext();
  Location path = FusedLoc::get({UnknownLoc::get(context)},
                                StringAttr::get(context, scope), context);
  return FusedLoc::get({getSource(cast<FusedLoc>(location)), path}, origin,
                       context);
}

Location mpopt::withSource(Location location, Location source) {
  mp::OriginAttr origin = getOrigin(location);
  if (!origin)
    return source;
  SmallVector<Location> parts = {source};
  llvm::copy_if(cast<FusedLoc>(location).getLocations(),
                std::back_inserter(parts),
                [](Location part) { return bool(::getValueScope(part)); });
  return FusedLoc::get(parts, origin, location->getContext());
}

// A NameLoc around the file's line. TorchScript's and ONNX's names alone never
// make one.
Location mpopt::withModule(Location source, StringRef module) {
  return module.empty()
             ? source
             : NameLoc::get(StringAttr::get(source.getContext(), module),
                            source);
}

static StringRef getModule(Operation *op) {
  if (!getOrigin(op->getLoc()))
    return {};
  for (Location part : cast<FusedLoc>(op->getLoc()).getLocations())
    if (auto name = dyn_cast<NameLoc>(part))
      return name.getName();
  return {};
}

StringRef mpopt::getNodeName(Operation *op) {
  mp::OriginAttr origin = getOrigin(op->getLoc());
  return origin ? origin.getNode().getValue() : StringRef();
}

StringRef mpopt::getNodeType(Operation *op) {
  mp::OriginAttr origin = getOrigin(op->getLoc());
  return origin ? origin.getType().getValue() : StringRef();
}

StringRef mpopt::getScope(Operation *op) {
  mp::OriginAttr origin = getOrigin(op->getLoc());
  return origin ? origin.getScope().getValue() : StringRef();
}

StringRef mpopt::getValueScope(Operation *op) {
  if (getOrigin(op->getLoc()))
    for (Location part : cast<FusedLoc>(op->getLoc()).getLocations())
      if (StringAttr scope = ::getValueScope(part))
        return scope.getValue();
  return getScope(op);
}

std::string mpopt::getScopeText(Operation *op) {
  StringRef scope = getScope(op), module = getModule(op);
  if (scope.empty() || module.empty())
    return (scope.empty() ? module : scope).str();
  return (scope + "/" + module).str();
}

StringRef mpopt::getValueName(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    mp::OriginAttr origin = getOrigin(result.getOwner()->getLoc());
    if (!origin || result.getResultNumber() >= origin.getValues().size())
      return {};
    return origin.getValues()[result.getResultNumber()].getValue();
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
    auto name = function.getArgAttrOfType<StringAttr>(number, "mp.name");
    return name ? name.getValue() : StringRef();
  }
  auto names =
      parent ? parent->getAttrOfType<ArrayAttr>("mp.arg_names") : ArrayAttr();
  if (!names || number >= names.size())
    return {};
  auto name = dyn_cast<StringAttr>(names[number]);
  return name ? name.getValue() : StringRef();
}

// By hand, since the general walk over attributes allocates for each location.
FileLineColLoc mpopt::getSourceLine(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file;
  if (auto named = dyn_cast<NameLoc>(location))
    return getSourceLine(named.getChildLoc());
  if (auto opaque = dyn_cast<OpaqueLoc>(location))
    return getSourceLine(opaque.getFallbackLocation());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    FileLineColLoc callee = getSourceLine(call.getCallee());
    return callee ? callee : getSourceLine(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc found = getSourceLine(part))
        return found;
  return {};
}
