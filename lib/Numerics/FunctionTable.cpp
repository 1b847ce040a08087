//===- FunctionTable.cpp - Rows by name
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/FunctionTable.h"

#include "Functions/Functions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <cmath>

using namespace mpopt;
using namespace mpopt::functions;

std::string mpopt::toString(UnaryFunction function) {
  return llvm::convertToSnakeFromCamelCase(function.row().name);
}

llvm::ArrayRef<UnaryFunction> mpopt::getUnaryFunctions() {
  static const auto functions = [] {
    llvm::SmallVector<UnaryFunction, 64> all;
    for (llvm::ArrayRef<FunctionRow> part :
         {kAlgebraic, kExponential, kTrigonometric, kErrorFunctions, kPiecewise,
          kActivations})
      for (const FunctionRow &row : part)
        all.push_back(UnaryFunction(row));
    return all;
  }();
  return functions;
}

std::optional<UnaryFunction>
mpopt::parseUnaryFunction(llvm::StringRef mnemonic) {
  static const auto byMnemonic = [] {
    llvm::StringMap<UnaryFunction> map;
    for (UnaryFunction function : getUnaryFunctions())
      map.try_emplace(toString(function), function);
    return map;
  }();
  auto it = byMnemonic.find(mnemonic);
  if (it == byMnemonic.end())
    return std::nullopt;
  return it->second;
}

double mpopt::evaluate(const Unary &unary, double x) {
  return unary.function.row().value(unary, x);
}

double mpopt::derivative(const Unary &unary, double x) {
  return unary.function.row().derivative(unary, x);
}

bool mpopt::hasBoundedSlope(const Unary &unary) {
  // A tangent is steep between them.
  constexpr double kFar = 1e6, kSteep = 1e3;
  FunctionFacts facts = getFacts(unary);
  bool isSteep = facts.spacing != 0 && facts.range == Interval::whole();
  return facts.domain == Interval::whole() && !isSteep &&
         llvm::all_of(std::array{-kFar, 0.0, kFar}, [&](double x) {
           return std::fabs(derivative(unary, x)) <= kSteep;
         });
}

FunctionFacts mpopt::getFacts(const Unary &unary) {
  const FunctionRow &row = unary.function.row();
  FunctionFacts facts = row.facts;
  if (row.adapt)
    row.adapt(unary, facts);
  return facts;
}

llvm::SmallVector<double, 2> mpopt::getBreaks(const Unary &unary) {
  llvm::SmallVector<double, 2> points;
  if (unary.function.row().breaks)
    unary.function.row().breaks(unary, points);
  return points;
}

llvm::SmallVector<Bend, 4> mpopt::getBends(const Unary &unary) {
  llvm::SmallVector<Bend, 4> pieces;
  if (unary.function.row().bends)
    unary.function.row().bends(unary, pieces);
  return pieces;
}
