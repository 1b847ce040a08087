//===- Target.cpp - The arithmetic a machine is assumed to have -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Target.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mpopt;

const FloatFormat &TargetProfile::lookUp(Table Tables::*table,
                                         const FloatFormat &format,
                                         llvm::StringRef op) const {
  auto kernel = kernels.find(op);
  for (const Tables *from :
       {kernel == kernels.end() ? nullptr : &kernel->second.tables, &tables})
    if (from)
      for (llvm::StringRef key : {format.name, llvm::StringRef("*")})
        if (auto it = (from->*table).find(key.str());
            it != (from->*table).end())
          return *it->second;
  llvm_unreachable("a profile has an entry \"*\", which its reader checks");
}

const FloatFormat &TargetProfile::products(const FloatFormat &format,
                                           llvm::StringRef op) const {
  return lookUp(&Tables::products, format, op);
}
const FloatFormat &TargetProfile::sums(const FloatFormat &format,
                                       llvm::StringRef op) const {
  return lookUp(&Tables::sums, format, op);
}
const FloatFormat &TargetProfile::functions(const FloatFormat &format,
                                            llvm::StringRef op) const {
  return lookUp(&Tables::functions, format, op);
}

bool TargetProfile::takesPlainExponentials(llvm::StringRef op) const {
  auto kernel = kernels.find(op);
  return kernel != kernels.end() && kernel->second.plainExponentials;
}

std::vector<std::string> TargetProfile::namedOps() const {
  std::vector<std::string> names;
  for (const auto &[name, kernel] : kernels)
    names.push_back(name);
  return names;
}
