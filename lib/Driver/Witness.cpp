//===- Witness.cpp - Inputs that attain what is possible
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module, with marks on the results whose overflow is only possible, goes
// as text to `mpopt.witness` of the Python package, which evaluates it.
//
//===----------------------------------------------------------------------===//

#include "Witness.h"

#include "PythonCommand.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mpopt;
namespace fs = llvm::sys::fs;

/// The marks that mpopt.witness reads: an array with a name for each result,
/// empty for those that are not watched.
static constexpr llvm::StringLiteral kWatchAttr = "mp.watch";

static const Watch *findOverflow(const Finding &finding) {
  if (finding.certainty != Certainty::Possible)
    return nullptr;
  auto found = llvm::find_if(finding.watches, [](const Watch &watch) {
    return watch.test == Decision::Overflow && !watch.tensor.empty();
  });
  return found == finding.watches.end() ? nullptr : &*found;
}

/// Marks the results; false if there is none.
static bool mark(func::FuncOp function, const llvm::StringSet<> &tensors) {
  Builder builder(function.getContext());
  bool any = false;
  function.walk([&](Operation *op) {
    SmallVector<StringRef> names;
    SmallVector<std::string> own;
    for (Value result : op->getResults())
      own.push_back(getTensorName(result));
    for (StringRef name : own)
      names.push_back(tensors.contains(name) ? name : "");
    if (llvm::all_of(names, [](StringRef name) { return name.empty(); }))
      return;
    op->setAttr(kWatchAttr, builder.getStrArrayAttr(names));
    any = true;
  });
  return any;
}

/// Writes what the analysis derives about inputs beside what is declared.
static void describeInputs(func::FuncOp function) {
  Builder builder(function.getContext());
  for (BlockArgument input : function.getArguments()) {
    if (getAssumption(input))
      continue;
    Cell hull = inputRange(input, nullptr).hull();
    function.setArgAttr(
        input.getArgNumber(), "mp.assume",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("lo", builder.getF64FloatAttr(hull.lo)),
             builder.getNamedAttr("hi", builder.getF64FloatAttr(hull.hi))}));
  }
}

/// The answer of the package; the error says why there is none.
static llvm::Expected<llvm::json::Object> search(ModuleOp module,
                                                 StringRef folder) {
  llvm::SmallString<128> path;
  int file = 0;
  if (std::error_code code =
          fs::createTemporaryFile("mpopt", "mlir", file, path))
    return llvm::createStringError(code, "a temporary file");
  auto remove = llvm::make_scope_exit([&] { (void)fs::remove(path); });
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    module->print(os, OpPrintingFlags().printGenericOpForm());
    if (std::error_code code = os.error()) {
      os.clear_error();
      return llvm::createStringError(code, "a temporary file");
    }
  }
  llvm::Expected<std::string> answer =
      askPython("mpopt.witness", {path.str().str(), folder.str()});
  if (!answer)
    return answer.takeError();
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(*answer);
  if (!parsed)
    return parsed.takeError();
  if (llvm::json::Object *object = parsed->getAsObject())
    return std::move(*object);
  return llvm::createStringError("the Python package gave no answer");
}

std::string mpopt::findWitnesses(ModuleOp module, StringRef folder,
                                 std::vector<Finding> &findings) {
  llvm::StringSet<> tensors;
  for (const Finding &finding : findings)
    if (const Watch *watch = findOverflow(finding))
      tensors.insert(watch->tensor);
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty() || !mark(*functions.begin(), tensors))
    return "";
  describeInputs(*functions.begin());
  llvm::Expected<llvm::json::Object> answer = search(module, folder);
  if (!answer)
    return llvm::toString(answer.takeError());
  if (const llvm::json::Object *files = answer->getObject("files"))
    for (Finding &finding : findings)
      if (const Watch *watch = findOverflow(finding))
        if (std::optional<StringRef> file = files->getString(watch->tensor))
          finding.witness = *file;
  return answer->getString("why").value_or("").str();
}
