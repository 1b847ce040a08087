//===- ImportFuzzer.cpp - Any bytes, imported
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes in any of the formats: an import either gives a module or says why not.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Import/Import.h"

#include "mlir/IR/MLIRContext.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mpopt::ImportResult result = mpopt::importBytes(
      llvm::StringRef(reinterpret_cast<const char *>(data), size), "", {},
      context);
  if (bool(result.module) == !result.errors.empty())
    std::abort();
  return 0;
}
