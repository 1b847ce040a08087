//===- DtypeSupport.cpp - What the dtype rules share
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/DtypeSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mpopt;

bool mpopt::is16Bit(Type type) { return type.isF16() || type.isBF16(); }
bool mpopt::isWide(Type type) { return type.isF32() || type.isF64(); }

Type mpopt::get16BitCompute(Operation *op) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (!precision || isViewLike(op) || op->getNumRegions() != 0 ||
      isa<mp::CastOp, mp::ConstantOp, mp::OpaqueOp>(op))
    return {};
  Type found;
  auto agrees = [&](Type type) {
    if (!isa<FloatType>(type))
      return true;
    if (!is16Bit(type) || (found && found != type))
      return false;
    found = type;
    return true;
  };
  for (OpOperand &operand : op->getOpOperands())
    if (precision.isPrecisionOperand(operand.getOperandNumber()) &&
        !agrees(getElementType(operand.get())))
      return {};
  for (Value result : op->getResults())
    if (!agrees(getElementType(result)))
      return {};
  return found;
}

bool mpopt::isKeptWide(Operation *op) {
  auto category = op->getAttrOfType<StringAttr>("mp.category");
  return category && llvm::StringSwitch<bool>(category.getValue())
                         .Cases({"fp32", "deny", "block"}, true)
                         .Default(false);
}

static StringRef getModuleAttr(Operation *op, StringRef name) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attribute = module->getAttrOfType<StringAttr>(name);
  return attribute ? attribute.getValue() : StringRef();
}

std::string mpopt::getPolicyName(Operation *op) {
  StringRef name = getModuleAttr(op, "mp.policy");
  return name.empty() ? "the policy" : name.str();
}

bool mpopt::isAutocast(Operation *module) {
  return getPrecision(module).byPolicy;
}

bool mpopt::isUnderAutocast(Operation *op) {
  if (Attribute region = op->getAttr("mp.autocast"))
    return isa<TypeAttr>(region);
  return isAutocast(op->getParentOfType<ModuleOp>());
}

StringRef mpopt::getMissingKernel(Operation *op) {
  auto opaque = dyn_cast<mp::OpaqueOp>(op);
  StringRef full = opaque ? opaque.getName() : getNodeType(op);
  StringRef name = full;
  if (!name.consume_front("aten::"))
    return {};
  name = name.split('.').first;
  name.consume_front("_");
  name.consume_front("linalg_");
  name.consume_back("_ex");
  // Those that raise an error for float16 and bfloat16 in PyTorch 2.13, of
  // torch.linalg and the older names of the same.
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"cholesky",
              "cholesky_inverse",
              "cholesky_solve",

              "eig",
              "eigh",
              "eigvals",
              "eigvalsh",
              "geqrf",
              "householder_product",
              "inv",
              "inverse",
              "ldl_factor",
              "logdet",
              "lstsq",
              "lu",
              "lu_factor",
              "pinv",
              "qr",
              "slogdet",
              "solve",
              "solve_triangular",
              "svd",
              "svdvals",
              "triangular_solve"},
             full)
      .Default({});
}

void mpopt::watchOps(FindingBuilder &finding, ArrayRef<Operation *> ops,
                     Type type, Decision onOperands, Decision onResults) {
  llvm::SmallPtrSet<Value, 8> seen;
  auto watch = [&](Value value, Decision test, StringRef part) {
    if (isa<FloatType>(getElementType(value)) &&
        !getMaker<mp::ConstantOp>(peel(value, Peel::Views)) &&
        seen.insert(value).second)
      finding.watchAs(type, test, value, part);
  };
  for (Operation *op : ops)
    for (Value result : op->getResults())
      watch(result, onResults, "result");
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      watch(operand, onOperands, "operand");
}
