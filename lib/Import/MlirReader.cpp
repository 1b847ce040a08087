//===- MlirReader.cpp - mp IR in text and bytecode
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module written by hand or by `--emit-mlir`. Types are inferred again, since
// what a person wrote may leave them open; names and counts come from the
// module's attributes where it has them.
//
//===----------------------------------------------------------------------===//

#include "MlirReader.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Import/Nesting.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <set>
#include <sys/time.h>

using namespace mlir;
using namespace mpopt;

// The parser recurses into types, attributes and regions.
static constexpr unsigned kMaxNesting = 256;

static void collectNames(func::FuncOp function, ImportResult &result) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    auto name = function.getArgAttrOfType<StringAttr>(index, "mp.name");
    result.inputs.push_back(name ? name.str() : "arg" + std::to_string(index));
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto name = function.getResultAttrOfType<StringAttr>(index, "mp.name");
    result.outputs.push_back(name ? name.str()
                                  : "result" + std::to_string(index));
  }
}

/// Ops that stand for nodes: not constants, nor what only ends a region.
static void count(Operation *op, ImportResult &result) {
  if (!isa_and_nonnull<mp::MPDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (auto constant = dyn_cast<mp::ConstantOp>(op)) {
    result.parameters +=
        getNumElements(getShape(constant.getType())).value_or(0);
    return;
  }
  ++result.coverage.ops;
  if (auto opaque = dyn_cast<mp::OpaqueOp>(op))
    ++result.coverage.unmodelled[opaque.getName().str()];
  else
    ++result.coverage.modelled;
}

namespace {
/// Ends what is under way by SIGABRT once it has computed for `seconds`.
class ComputeLimit {
public:
  explicit ComputeLimit(unsigned seconds) {
    struct sigaction action = {};
    action.sa_handler = [](int) { ::raise(SIGABRT); };
    ::sigaction(SIGVTALRM, &action, &previous);
    itimerval limit = {{0, 0}, {time_t(seconds), 0}};
    ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  }
  ~ComputeLimit() {
    itimerval none = {};
    ::setitimer(ITIMER_VIRTUAL, &none, nullptr);
    ::sigaction(SIGVTALRM, &previous, nullptr);
  }

private:
  struct sigaction previous;
};
} // namespace

/// MLIR's bytecode reader believes the counts and indices that it reads: where
/// they are damaged it ends the program, or goes round attributes that refer to
/// each other for ever. Null then, and where it refuses.
static OwningOpRef<ModuleOp> parseGuarded(const llvm::SourceMgr &sources,
                                          size_t bytes,
                                          const ParserConfig &config) {
  using llvm::CrashRecoveryContext;
  CrashRecoveryContext::Enable();
  // No text of LLVM's or of the C++ library's before ours.
  llvm::install_fatal_error_handler([](void *, const char *, bool) {
    CrashRecoveryContext::GetCurrent()->HandleExit(EXIT_FAILURE);
  });
  std::terminate_handler terminate = std::set_terminate(std::abort);
  OwningOpRef<ModuleOp> module;
  CrashRecoveryContext guard;
  // It reads some 100 MiB a second.
  ComputeLimit limit(2 + bytes / (8 << 20));
  bool survived = guard.RunSafely(
      [&] { module = parseSourceFile<ModuleOp>(sources, config); });
  std::set_terminate(terminate);
  llvm::remove_fatal_error_handler();
  CrashRecoveryContext::Disable();
  if (!survived)
    (void)module.release();
  return module;
}

/// True if regions nest deeper than what follows can recurse into: bytecode,
/// which is read without recursion, can hold any depth. Such a module is
/// emptied at once, since destroying it would recurse as well.
static bool dropIfTooDeep(ModuleOp module) {
  std::vector<Operation *> ops = {module};
  std::vector<unsigned> depths = {0};
  bool tooDeep = false;
  for (size_t index = 0; index < ops.size(); ++index)
    for (Region &region : ops[index]->getRegions())
      for (Block &block : region)
        for (Operation &op : block) {
          ops.push_back(&op);
          depths.push_back(depths[index] + 1);
          tooDeep |= depths.back() > kMaxNesting;
        }
  if (!tooDeep)
    return false;
  for (Operation *op : ops) {
    op->setOperands({});
    for (BlockOperand &successor : op->getBlockOperands())
      successor.drop();
  }
  for (Operation *op : llvm::reverse(llvm::drop_begin(ops)))
    op->erase();
  return true;
}

/// Looks for what is wrong with a parsed module, from its depth to its types.
static LogicalResult checkModule(ModuleOp module, ErrorSink &sink) {
  auto fail = [&](ImportCode code, const Twine &text) {
    if (!sink.hasErrors())
      sink.error(code, "", text);
    return failure();
  };
  if (dropIfTooDeep(module)) {
    sink.error(ImportCode::TooDeep, "",
               "regions are nested more than " + Twine(kMaxNesting) + " deep");
    return failure();
  }
  if (failed(verify(module)))
    return fail(ImportCode::Malformed, "not valid mp IR");
  if (failed(inferAllTypes(module)) || sink.hasErrors())
    return fail(ImportCode::InferenceFailed, "types contradict each other");
  return success();
}

void mpopt::importMlir(StringRef bytes, StringRef path,
                       const ImportOptions &options, MLIRContext &context,
                       ErrorSink &sink, ImportResult &result) {
  if (result.format == ModelFormat::Mlir &&
      exceedsNesting(bytes, kMaxNesting)) {
    sink.error(ImportCode::TooDeep, "",
               "brackets are nested more than " + Twine(kMaxNesting) + " deep");
    return;
  }
  if (!options.inputShapes.empty() || !options.dims.empty())
    sink.warn("shapes and dims given for mp IR are ignored");
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    std::string where;
    if (FileLineColLoc location = getSourceLine(diagnostic.getLocation()))
      where = "line " + std::to_string(location.getLine()) + ": ";
    sink.error(ImportCode::Malformed, "", where + diagnostic.str());
  });
  llvm::SourceMgr sources;
  // The parser wants a null at the end, which a mapped file does not have.
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(bytes, path.empty() ? "-" : path),
      llvm::SMLoc());
  // The verifier recurses: it has to wait until the depth is known.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  result.module = result.format == ModelFormat::MlirBytecode
                      ? parseGuarded(sources, bytes.size(), config)
                      : parseSourceFile<ModuleOp>(sources, config);
  if (!result.module) {
    if (!sink.hasErrors())
      sink.error(ImportCode::Malformed, "", "not valid mp IR");
    return;
  }
  if (failed(checkModule(*result.module, sink))) {
    result.module = nullptr;
    return;
  }
  std::set<std::string> files;
  result.module->walk([&](Operation *op) {
    count(op, result);
    if (auto constant = dyn_cast<mp::ConstantOp>(op))
      if (auto weight = dyn_cast<mp::WeightAttr>(constant.getValue()))
        files.insert(weight.getFile().str());
  });
  result.weightFiles.assign(files.begin(), files.end());
  Operation *module = *result.module;
  auto number = [&](StringRef name) {
    return module->getAttrOfType<IntegerAttr>(name);
  };
  if (IntegerAttr parameters = number("mp.parameters"))
    result.parameters = parameters.getInt();
  auto functions = result.module->getOps<func::FuncOp>();
  if (!functions.empty())
    collectNames(*functions.begin(), result);
}
