//===- TensorMeta.cpp - Types that a program declares ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers are those of ScalarType, MemoryFormat and Layout in
// torch/_export/serde/schema.py and in c10/core.
//
//===----------------------------------------------------------------------===//

#include "TensorMeta.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpopt;
using namespace mpopt::exported;
using llvm::StringRef;
namespace json = llvm::json;

/// A dim above this is absurd: products of two still fit.
static constexpr int64_t kMaxDim = 1ll << 40;
static constexpr size_t kMaxRank = 64;
static constexpr int64_t kStrided = 7;

int64_t exported::toC10ScalarType(int64_t number) {
  // Up to BOOL both count alike, from 0 and from 1.
  if (number >= 1 && number <= 12)
    return number - 1;
  switch (number) {
  case 13: // BFLOAT16
    return 15;
  case 28: // UINT16
    return 27;
  case 29: // FLOAT8E4M3FN
    return 24;
  case 30: // FLOAT8E5M2
    return 23;
  case 31: // FLOAT8E4M3FNUZ
    return 26;
  case 32: // FLOAT8E5M2FNUZ
    return 25;
  case 33: // FLOAT8E8M0FNU
    return 44;
  case 34: // UINT32
    return 28;
  case 35: // UINT64
    return 29;
  default:
    return -1;
  }
}

int64_t exported::toC10MemoryFormat(int64_t number) {
  switch (number) {
  case 1: // contiguous
    return 0;
  case 4: // preserve
    return 1;
  case 2: // channels last
    return 2;
  case 3: // channels last 3d
    return 3;
  default:
    return -1;
  }
}

int64_t exported::toC10Layout(int64_t number) {
  switch (number) {
  case kStrided:
    return 0;
  case 1: // COO
    return 1;
  case 2: // CSR
    return 2;
  case 6: // MKL-DNN
    return 3;
  case 3: // CSC
    return 4;
  case 4: // BSR
    return 5;
  case 5: // BSC
    return 6;
  default:
    return -1;
  }
}

StringRef exported::symbolOf(StringRef expression) {
  expression = expression.trim();
  // PyTorch 2.4 writes the name alone.
  if (!expression.empty() && llvm::isAlpha(expression.front()) &&
      llvm::all_of(expression,
                   [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return expression;
  if (!expression.consume_front("Symbol('"))
    return "";
  auto [symbol, rest] = expression.split('\'');
  // `Symbol('s0', positive=True, integer=True)`, and nothing behind it.
  return rest.ends_with(")") && rest.count('(') == 0 && rest.count(')') == 1
             ? symbol
             : StringRef();
}

static llvm::ArrayRef<json::Value> firstOf(const json::Array &values) {
  return {values.data(), std::min(values.size(), kMaxRank)};
}

TensorMeta exported::readTensorMeta(const json::Object &meta, StringRef tensor,
                                    const std::map<std::string, int64_t> &dims,
                                    Damage &damage) {
  TensorMeta result;
  int64_t dtype = getInteger(meta, "dtype", damage);
  result.scalarType = int(toC10ScalarType(dtype));
  if (result.scalarType < 0)
    damage.report("tensor '" + tensor + "' has the unknown dtype " +
                      llvm::Twine(dtype),
                  ImportCode::BadElementType);
  if (int64_t layout = getInteger(meta, "layout", damage); layout != kStrided)
    damage.report(
        "tensor '" + tensor + "' is " +
            (toC10Layout(layout) > 0 ? "sparse" : "nested or opaque") +
            ": tensors that are not strided are not read",
        ImportCode::BadElementType);
  auto read = [&](const json::Value &value, std::string *symbol) -> int64_t {
    Choice size = getChoice(value, damage);
    if (size.kind == "as_int")
      return size.integer(damage);
    if (size.kind != "as_expr") {
      damage.report("tensor '" + tensor + "' has a size of no kind");
      return -1;
    }
    StringRef name =
        symbolOf(getString(size.object(damage), "expr_str", damage));
    if (symbol)
      *symbol = name.str();
    auto known = dims.find(name.str());
    return known == dims.end() ? -1 : known->second;
  };
  const json::Array &sizes = getArray(meta, "sizes", damage);
  if (sizes.size() > kMaxRank)
    damage.report("tensor '" + tensor + "' has " + llvm::Twine(sizes.size()) +
                      " dims",
                  ImportCode::BadDim);
  for (const json::Value &value : firstOf(sizes)) {
    std::string symbol;
    int64_t size = read(value, &symbol);
    bool isKnown = size >= 0 || getChoice(value, damage).kind == "as_int";
    if (isKnown && (size < 0 || size > kMaxDim)) {
      damage.report("tensor '" + tensor + "' has a dim of " + llvm::Twine(size),
                    ImportCode::BadDim);
      size = -1;
    }
    result.sizes.push_back(size);
    result.symbols.push_back(std::move(symbol));
  }
  for (const json::Value &value : firstOf(getArray(meta, "strides", damage)))
    result.strides.push_back(read(value, nullptr));
  if (const json::Value *offset = meta.get("storage_offset"))
    result.storageOffset = read(*offset, nullptr);
  result.requiresGrad = meta.getBoolean("requires_grad").value_or(false);
  return result;
}

SymbolRanges exported::readRanges(const json::Object &program, Damage &damage) {
  SymbolRanges ranges;
  for (const auto &[symbol, value] :
       getObject(program, "range_constraints", damage)) {
    const json::Object &range = asObject(value, "range_constraints", damage);
    SymbolRange bounds;
    if (auto least = range.getInteger("min_val"))
      bounds.least = *least;
    if (auto most = range.getInteger("max_val"))
      bounds.most = *most;
    ranges[symbol.str()] = bounds;
  }
  return ranges;
}
