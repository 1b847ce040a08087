//===- mpopt-lsp-server.cpp - Editor support for mp files
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server for the mp dialect, with mpopt's findings among the
// diagnostics.
//
//===----------------------------------------------------------------------===//

#include "Relay.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace mpopt;

// MLIR's server parses the command line.
static llvm::cl::opt<std::string>
    precision("precision",
              llvm::cl::desc("Precision that files are checked for, as of "
                             "mpopt --precision (default: auto)"),
              llvm::cl::init("auto"));
static llvm::cl::opt<Certainty> minCertainty(
    "min-certainty", llvm::cl::desc("Least certain findings that are shown"),
    llvm::cl::values(clEnumValN(Certainty::Certain, "certain", "facts"),
                     clEnumValN(Certainty::Likely, "likely",
                                "those that estimates reach, too (default)"),
                     clEnumValN(Certainty::Possible, "possible",
                                "those that only bounds reach, too")),
    llvm::cl::init(Certainty::Likely));

static Options getOptions() {
  Options options;
  options.precision = precision;
  options.minCertainty = minCertainty;
  for (const RuleInfo &rule : getRules())
    options.rules.push_back(&rule);
  return options;
}

static int serve(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mp::MPDialect, mlir::func::FuncDialect>();
  int status = failed(mlir::MlirLspServerMain(argc, argv, registry));
  llvm::outs().flush();
  return status;
}

int main(int argc, char **argv) {
  // Their answers are no messages: nothing stands between.
  if (llvm::any_of(llvm::ArrayRef(argv + 1, argc - 1),
                   [](llvm::StringRef word) {
                     return word.contains("-help") || word.contains("-version");
                   }))
    return serve(argc, argv);
  Documents documents(getOptions);
  llvm::Expected<int> result =
      relay(documents, [&] { return serve(argc, argv); });
  if (!result) {
    llvm::errs() << "mpopt-lsp-server: " << llvm::toString(result.takeError())
                 << '\n';
    _exit(1);
  }
  // No destructors: a thread may wait for the editor.
  _exit(*result);
}
