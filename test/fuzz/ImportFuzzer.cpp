//===- ImportFuzzer.cpp - Any bytes, imported and judged
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes in any of the formats: an import either gives a module or says why not,
// and a module goes through every stage of a check, with every rule. The bytes
// themselves choose the precision, so that an input shows the same again.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Driver/CheckModule.h"
#include "mpopt/Driver/Options.h"

#include "mpopt/Import/Import.h"
#include "mpopt/Ranges/RangeInterface.h"
#include "mpopt/Report/Finding.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>

using namespace mpopt;

static Options allRules(uint64_t hash) {
  static constexpr llvm::StringRef kPrecisions[] = {
      "auto", "as-is", "fp16", "bf16", "autocast-fp16", "autocast-bf16"};
  Options options;
  options.precision = kPrecisions[hash % std::size(kPrecisions)];
  for (const RuleInfo &rule : getRules())
    options.rules.push_back(&rule);
  return options;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // MLIR's own reader of bytecode is known to end on damaged input; the
  // importer recovers from that, a sanitizer would not.
  if (detectFormat(bytes) == ModelFormat::MlirBytecode)
    return -1;
  mlir::DialectRegistry registry;
  registerTransferModels(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  ImportResult result = importBytes(bytes, "", {}, context);
  if (bool(result.module) == !result.errors.empty())
    std::abort();
  if (!result.module)
    return 0;
  // What the importer let through may not be refused later.
  auto judged = checkModule(allRules(llvm::xxh3_64bits(bytes)), *result.module,
                            [](const RangeAnalysis &) {});
  if (!judged) {
    llvm::errs() << llvm::toString(judged.takeError()) << '\n';
    std::abort();
  }
  return 0;
}
