//===- Target.cpp - The arithmetic a machine is assumed to have -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Target.h"

using namespace mpopt;

static const FloatFormat &
lookUp(const std::map<std::string, const FloatFormat *> &table,
       const FloatFormat &format) {
  auto it = table.find(format.name.str());
  return *(it == table.end() ? table.find("*") : it)->second;
}

const FloatFormat &TargetProfile::products(const FloatFormat &format) const {
  return lookUp(productTable, format);
}
const FloatFormat &TargetProfile::sums(const FloatFormat &format) const {
  return lookUp(sumTable, format);
}
const FloatFormat &TargetProfile::functions(const FloatFormat &format) const {
  return lookUp(functionTable, format);
}
