//===- CheckText.cpp - mp IR in an editor, from text to findings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/CheckText.h"

#include "mpopt/Driver/Assumptions.h"
#include "mpopt/Driver/CheckModule.h"

#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/SequentialContext.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mpopt;

/// The ops of a module, without itself: `body` may hold nothing but the module.
static std::vector<Operation *> listOps(Block &body) {
  std::vector<Operation *> ops;
  Block *inner = &body;
  if (llvm::hasSingleElement(body))
    if (auto module = dyn_cast<ModuleOp>(body.front()))
      inner = module.getBody();
  inner->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  return ops;
}

/// Sets where the ops of `module`, which was read from `text`, are in it. Only
/// the parser knows, if the text says that they come from elsewhere: it is
/// asked again, and its ops are matched by their order.
static void placeInText(ModuleOp module, StringRef text, StringRef path) {
  MLIRContext *context = module.getContext();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path),
                             llvm::SMLoc());
  // The text was read before without an error.
  ScopedDiagnosticHandler silence(context, [](Diagnostic &) {});
  Block parsed;
  AsmParserState state;
  ParserConfig config(context, /*verifyAfterParse=*/false);
  if (failed(parseAsmSourceFile(sources, &parsed, config, &state)))
    return;
  std::vector<Operation *> ops = listOps(*module.getBody());
  std::vector<Operation *> found = listOps(parsed);
  if (ops.size() != found.size())
    return;
  auto locate = [&](llvm::SMLoc place) {
    auto [line, column] = sources.getLineAndColumn(place);
    return FileLineColLoc::get(context, path, line, column);
  };
  auto locateArguments = [&](Block &block, Block &twin) {
    const auto *known = state.getBlockDef(&twin);
    if (!known)
      return;
    for (auto [argument, place] :
         llvm::zip(block.getArguments(), known->arguments))
      argument.setLoc(locate(place.loc.Start));
  };
  for (auto [op, twin] : llvm::zip_equal(ops, found)) {
    if (op->getName() != twin->getName())
      return;
    if (const auto *known = state.getOpDef(twin))
      op->setLoc(withSource(op->getLoc(), locate(known->loc.Start)));
    for (auto [region, other] :
         llvm::zip_equal(op->getRegions(), twin->getRegions()))
      for (auto [block, same] : llvm::zip(region, other))
        locateArguments(block, same);
  }
}

static TextPlace getPlace(Location location, StringRef path) {
  FileLineColLoc source = getSourceLine(location);
  if (!source || source.getFilename() != path)
    return {};
  return {source.getLine(), source.getColumn()};
}

llvm::Expected<std::vector<TextFinding>>
mpopt::checkText(const Options &options, StringRef text, StringRef path) {
  DialectRegistry registry;
  registerTransferModels(registry);
  SequentialContext context(registry);
  ImportResult imported = importBytes(text, path, options.import, context);
  if (!imported.errors.empty())
    return llvm::createStringError(imported.errors.front().reason);
  if (!imported.module)
    return llvm::createStringError("the model cannot be imported");
  ModuleOp module = *imported.module;
  placeInText(module, text, path);
  llvm::Expected<std::vector<Assumption>> assumptions =
      assumeInputs(options, module);
  if (!assumptions)
    return assumptions.takeError();
  llvm::Expected<CheckedModule> checked = checkModule(options, module);
  if (!checked)
    return checked.takeError();
  std::vector<TextFinding> findings;
  for (auto [finding, place] :
       llvm::zip_equal(checked->findings, checked->places)) {
    if (finding.certainty < options.minCertainty)
      continue;
    TextFinding &found = findings.emplace_back();
    found.finding = std::move(finding);
    found.place = getPlace(place.op, path);
    for (Location cause : place.causes)
      found.causes.push_back(getPlace(cause, path));
  }
  return findings;
}
