//===- NodeImport.cpp - One node: lowering, expansion or opaque
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ModelImporter.h"
#include "OnnxNode.h"
#include "Provenance.h"

#include "mpopt/Dialect/Ops/ControlFlowOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

/// Only these count other nodes, and have locations inside them, while they are
/// imported.
static bool hasBodies(const onnx::NodeProto &node) {
  return llvm::any_of(node.attribute(),
                      [](const onnx::AttributeProto &attribute) {
                        return attribute.has_g() || attribute.graphs_size() > 0;
                      });
}

NodeInfo ModelImporter::describe(const onnx::NodeProto &node, unsigned index,
                                 const Scope &scope) {
  StringRef domain = normalizeDomain(node.domain());
  std::string name = node.name().empty()
                         ? node.op_type() + "_" + std::to_string(index)
                         : node.name();
  // A runtime's domain need not be imported: its operators have one version.
  int64_t opset = std::max<int64_t>(scope.frame->opsets->version(domain), 1);
  if (scope.frame->location)
    return {node, std::move(name), domain, opset,
            Location(scope.frame->location)};
  if (node.name().empty())
    result.unnamed.insert(name);
  NodeInfo info{node, std::move(name), domain, opset, UnknownLoc::get(context)};
  if (hasBodies(node))
    info.location = locate(info, scope, {});
  return info;
}

Location ModelImporter::locate(const NodeInfo &info, const Scope &scope,
                               ArrayRef<StringRef> values) {
  return makeOrigin(
      context, info.name, qualifiedType(info.domain, info.node.op_type()),
      scope.path, values,
      withModule(readSource(context, info.node), readModulePath(info.node)));
}

void ModelImporter::locateSteps(const NodeInfo &info, const Scope &scope,
                                Operation *before) {
  LocationAttr steps;
  for (Operation *op = lastOp(); op && op != before; op = op->getPrevNode()) {
    if (!isa<UnknownLoc>(op->getLoc()))
      continue;
    if (!steps)
      steps = locate(info, scope, {});
    op->setLoc(steps);
  }
}

ModelImporter::Mark ModelImporter::mark(const onnx::NodeProto &node) {
  Mark mark{sink.mark(), lastOp(), opaques, std::nullopt};
  if (hasBodies(node))
    mark.coverage = result.coverage;
  return mark;
}

void ModelImporter::rollBack(const Mark &mark) {
  sink.rollBack(mark.sink);
  opaques = mark.opaques;
  if (mark.coverage)
    result.coverage = *mark.coverage;
  while (Operation *op = lastOp()) {
    if (op == mark.last)
      break;
    // Facts are keyed by address, which the next op may get again.
    op->walk([&](Operation *inner) {
      for (Value value : inner->getResults())
        facts.set(value, std::nullopt);
    });
    op->erase();
  }
}

/// True if an op takes the kinds of operands that it got: inference reads them
/// as what the op's definition says. A node in the body of a function can get
/// anything. Operands are verified before all else.
static bool takesOperands(Operation *op) {
  if (llvm::all_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
    return true;
  bool taken = true;
  ScopedDiagnosticHandler look(op->getContext(), [&](Diagnostic &diagnostic) {
    taken &= !StringRef(diagnostic.str()).contains("operand #");
    return success();
  });
  (void)op->getName().verifyInvariants(op);
  return taken;
}

bool ModelImporter::finish(Operation *op) {
  if (!takesOperands(op)) {
    (void)op->getName().verifyInvariants(op);
    return false;
  }
  if (failed(inferTypes(op, facts)))
    return false;
  // Bodies are not there yet; the whole module is verified at the end.
  return op->getNumRegions() > 0 ||
         succeeded(op->getName().verifyInvariants(op));
}

Type ModelImporter::declaredType(const onnx::NodeProto &node, unsigned index,
                                 const Scope &scope) {
  const std::string &name = node.output(int(index));
  auto it = scope.declared.find(StringRef(name));
  return it == scope.declared.end() ? getUnknownTensor(context)
                                    : types.read(*it->second, name);
}

/// True if `value` is a result of an op made after `before` that has no name of
/// the model's yet.
static bool isFresh(Value value, Operation *before, Block *block) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != block ||
      !getValueName(value).empty())
    return false;
  for (Operation *op = &block->back(); op && op != before;
       op = op->getPrevNode())
    if (op == definition)
      return true;
  return false;
}

void ModelImporter::nameResult(OpResult value, StringRef name,
                               const NodeInfo &info, const Scope &scope) {
  Operation *op = value.getOwner();
  SmallVector<StringRef> names(op->getNumResults());
  for (OpResult result : op->getResults())
    names[result.getResultNumber()] = getValueName(result);
  names[value.getResultNumber()] = name;
  op->setLoc(isa<UnknownLoc>(op->getLoc())
                 ? locate(info, scope, names)
                 : withValueScope(withValues(op->getLoc(), names), scope.path));
}

void ModelImporter::bind(const NodeInfo &info, unsigned index, Value value,
                         Scope &scope, Operation *before) {
  StringRef name = info.node.output(int(index));
  bool fresh = isFresh(value, before, builder.getInsertionBlock());
  if (!scope.frame->expanded && !fresh) {
    value =
        mp::IdentityOp::create(builder, info.location, value.getType(), value);
    finish(value.getDefiningOp());
    fresh = true;
  }
  scope.values[name] = value;
  if (!fresh)
    return;
  if (!scope.frame->expanded)
    nameResult(cast<OpResult>(value), name, info, scope);

  Type declared = declaredType(info.node, index, scope);
  Type inferred = value.getType();
  Type element = getElementType(inferred), other = getElementType(declared);
  if (isa<TensorType>(inferred) && isa<TensorType>(declared) &&
      !isUnknown(element) && !isUnknown(other) && element != other) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "'" << name << "' is declared as " << declared << " and computed as "
        << inferred;
    sink.error(ImportCode::TypeConflict, info.name, text);
    return;
  }
  std::optional<Type> refined = refineType(inferred, declared);
  if (!refined) {
    // Files in circulation carry stale shapes, and runtimes only warn.
    std::string text;
    llvm::raw_string_ostream(text)
        << "'" << name << "' is declared as " << declared << " and computed as "
        << inferred << "; the declaration is ignored";
    sink.warn(text);
    return;
  }
  if (!value.getDefiningOp<mp::ConstantOp>())
    value.setType(*refined);
}

std::optional<bool> ModelImporter::lower(const NodeInfo &info, Scope &scope) {
  Lowering lowering = registry.find(info.domain, info.node.op_type());
  if (!lowering)
    return std::nullopt;
  OnnxNode node(*this, info, scope);
  LogicalResult lowered = lowering(node);
  if (node.failed())
    return false;
  if (failed(lowered))
    return std::nullopt;
  for (int index = 0; index < info.node.output_size(); ++index)
    if (!info.node.output(index).empty() &&
        !scope.values.contains(info.node.output(index))) {
      sink.error(ImportCode::Invalid, info.name,
                 "its lowering gives no output " + Twine(index));
      return false;
    }
  return true;
}

bool ModelImporter::isDead(const Mark &start) const {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  while (parent && !isa<mp::IfOp>(parent))
    parent = parent->getParentOp();
  // None was kept if there are too many already.
  if (!parent || result.errors.size() <= start.sink.errors)
    return false;
  return llvm::all_of(ArrayRef(result.errors).drop_front(start.sink.errors),
                      [](const ImportError &error) {
                        return error.code ==
                               getCodeName(ImportCode::InferenceFailed);
                      });
}

void ModelImporter::importNode(NodeInfo info, Scope &scope) {
  std::string outer = std::exchange(currentNode, info.name);
  bool counted = !scope.frame->expanded;
  unsigned opaquesBefore = opaques;
  result.coverage.ops += counted;
  Mark start = mark(info.node);
  std::optional<bool> lowered = lower(info, scope);
  locateSteps(info, scope, start.last);
  if (lowered != true && isa<UnknownLoc>(info.location))
    info.location = locate(info, scope, {});
  bool modelled = lowered.has_value();
  if (lowered == false) {
    bool dead = isDead(start);
    if (dead) {
      std::string reason = result.errors[start.sink.errors].reason;
      rollBack(start);
      if (counted)
        sink.warn("'" + info.name +
                  "' is in a branch that cannot run: " + reason);
    }
    // The errors of its bodies suffice, unless they were rolled back.
    makeOpaque(info, scope, /*refused=*/!dead);
  } else if (!lowered) {
    rollBack(start);
    if (expandFunction(info, scope)) {
      modelled = opaques == opaquesBefore;
    } else {
      rollBack(start);
      if (expandSchema(info, scope)) {
        modelled = opaques == opaquesBefore;
      } else {
        rollBack(start);
        ++opaques;
        makeOpaque(info, scope);
      }
    }
  }
  if (counted) {
    if (modelled)
      ++result.coverage.modelled;
    else
      ++result.coverage
            .unmodelled[qualifiedType(info.domain, info.node.op_type())];
  }
  currentNode = std::move(outer);
}
