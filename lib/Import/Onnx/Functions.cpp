//===- Functions.cpp - Model-local functions and opsets
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

#include "StandardSchemas.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

std::string onnx_import::qualifiedType(StringRef domain, StringRef type) {
  domain = normalizeDomain(domain);
  return domain.empty() ? type.str() : (domain + "::" + type).str();
}

OpsetMap OpsetMap::read(const Imports &imports, int64_t irVersion,
                        StringRef owner, ErrorSink *sink) {
  OpsetMap result;
  auto &known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto &import : imports) {
    StringRef domain = normalizeDomain(import.domain());
    result.versions[domain] = import.version();
    if (!sink)
      continue;
    auto it = known.find(domain.str());
    int64_t newest = it == known.end() ? INT64_MAX : it->second.second;
    StringRef shown = domain.empty() ? "ai.onnx" : domain;
    if (import.version() < 1)
      sink->error(ImportCode::OpsetImport, owner,
                  "imports version " + Twine(import.version()) + " of '" +
                      shown + "'");
    else if (import.version() > newest)
      sink->error(ImportCode::OpsetImport, owner,
                  "imports version " + Twine(import.version()) + " of '" +
                      shown + "'; the newest that mpopt knows is " +
                      Twine(newest));
  }
  // Before IR version 3 there was one operator set and no import of it.
  if (imports.empty() && irVersion < 3)
    result.versions[""] = 1;
  return result;
}

const onnx::OpSchema *onnx_import::findSchema(const onnx::NodeProto &node,
                                              const OpsetMap &opsets) {
  int64_t version = opsets.version(node.domain());
  if (version < 1 || version > INT32_MAX)
    return nullptr;
  StringRef domain = normalizeDomain(node.domain());
  if (domain.empty())
    return findStandardSchema(node.op_type(), int(version));
  // The registry is slow to make: not for domains that it does not have.
  if (!onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().count(
          domain.str()))
    return nullptr;
  return onnx::OpSchemaRegistry::Schema(node.op_type(), int(version),
                                        domain.str());
}

static std::string makeKey(StringRef domain, StringRef name,
                           StringRef overload) {
  return (normalizeDomain(domain) + Twine('\0') + name + Twine('\0') + overload)
      .str();
}

const onnx::FunctionProto *
FunctionTable::find(const onnx::NodeProto &node) const {
  if (functions.empty())
    return nullptr;
  return functions.lookup(
      makeKey(node.domain(), node.op_type(), node.overload()));
}

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

static void
forEachNode(const Nodes &nodes,
            llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : nodes) {
    visit(node);
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      forEachNode(attribute.g().node(), visit);
      for (const onnx::GraphProto &graph : attribute.graphs())
        forEachNode(graph.node(), visit);
    }
  }
}

namespace {
/// Nodes after expansion, by depth-first search over calls.
class ExpansionCounter {
public:
  ExpansionCounter(const FunctionTable &table, ErrorSink &sink)
      : table(table), sink(sink) {}

  uint64_t count(const Nodes &nodes) {
    uint64_t total = 0;
    forEachNode(nodes, [&](const onnx::NodeProto &node) {
      total = llvm::SaturatingAdd(total, uint64_t(1));
      if (const onnx::FunctionProto *callee = table.find(node))
        total = llvm::SaturatingAdd(total, count(*callee));
    });
    return total;
  }

  bool failed = false;

private:
  uint64_t count(const onnx::FunctionProto &function) {
    auto [it, isNew] = counts.try_emplace(&function, std::nullopt);
    if (!isNew) {
      if (!it->second)
        report(ImportCode::RecursiveFunction, function,
               "calls itself, directly or through others");
      return it->second.value_or(0);
    }
    if (depth == FunctionTable::kMaxCallDepth) {
      report(ImportCode::TooDeep, function,
             "is called through more than " +
                 Twine(FunctionTable::kMaxCallDepth) + " others");
      return 0;
    }
    ++depth;
    uint64_t total = count(function.node());
    --depth;
    counts[&function] = total;
    return total;
  }

  void report(ImportCode code, const onnx::FunctionProto &function,
              const Twine &what) {
    failed = true;
    sink.error(code, qualifiedType(function.domain(), function.name()),
               "the function " + what);
  }

  const FunctionTable &table;
  ErrorSink &sink;
  unsigned depth = 0;
  llvm::DenseMap<const onnx::FunctionProto *, std::optional<uint64_t>> counts;
};

} // namespace

bool FunctionTable::build(const onnx::ModelProto &model, ErrorSink &sink) {
  bool valid = true;
  for (const onnx::FunctionProto &function : model.functions())
    if (!functions
             .try_emplace(makeKey(function.domain(), function.name(),
                                  function.overload()),
                          &function)
             .second) {
      sink.error(ImportCode::DuplicateFunction,
                 qualifiedType(function.domain(), function.name()),
                 "the function is defined twice");
      valid = false;
    }
  ExpansionCounter counter(*this, sink);
  uint64_t total = counter.count(model.graph().node());
  // Functions that nothing calls may be wrong too.
  for (const onnx::FunctionProto &function : model.functions())
    counter.count(function.node());
  if (!functions.empty() && total > kMaxExpandedNodes) {
    sink.error(ImportCode::TooManyNodes, "",
               "functions expand to more than " + Twine(kMaxExpandedNodes) +
                   " nodes");
    valid = false;
  }
  return valid && !counter.failed;
}
