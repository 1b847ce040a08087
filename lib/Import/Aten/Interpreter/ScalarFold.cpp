//===- ScalarFold.cpp - Python's arithmetic on what is known
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFold.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

using Kind = Item::Kind;

/// Python's floor division and its remainder.
static int64_t floorDivide(int64_t lhs, int64_t rhs) {
  int64_t quotient = lhs / rhs;
  return quotient - ((lhs % rhs != 0) && ((lhs < 0) != (rhs < 0)));
}

std::optional<Item> fold::unary(StringRef op, const Item &x) {
  bool isFloat = x.kind == Kind::Float;
  double value = x.number();
  auto number = [&](double result) { return Item::floating(result); };
  auto whole = [&](double result) -> std::optional<Item> {
    if (!(std::fabs(result) < 9e18))
      return std::nullopt;
    return Item::integerOf(int64_t(result));
  };
  if (op == "neg")
    return isFloat ? number(-value) : Item::integerOf(-uint64_t(x.integer));
  if (op == "abs")
    return isFloat ? number(std::fabs(value))
                   : Item::integerOf(std::abs(x.integer));
  if (op == "__not__")
    return Item::boolean(value == 0);
  if (op == "Bool")
    return Item::boolean(value != 0);
  if (op == "Int" || op == "IntImplicit" || op == "trunc")
    return isFloat ? whole(std::trunc(value)) : Item::integerOf(x.integer);
  if (op == "Float" || op == "FloatImplicit")
    return number(value);
  if (op == "ScalarImplicit")
    return x;
  if (op == "ceil")
    return whole(std::ceil(value));
  if (op == "floor")
    return whole(std::floor(value));
  if (op == "round")
    return number(std::nearbyint(value));
  if (op == "sqrt")
    return number(std::sqrt(value));
  if (op == "exp")
    return number(std::exp(value));
  if (op == "log")
    return number(std::log(value));
  if (op == "log2")
    return number(std::log2(value));
  if (op == "log10")
    return number(std::log10(value));
  if (op == "sin")
    return number(std::sin(value));
  if (op == "cos")
    return number(std::cos(value));
  if (op == "tanh")
    return number(std::tanh(value));
  if (op == "isinf")
    return Item::boolean(std::isinf(value));
  if (op == "isnan")
    return Item::boolean(std::isnan(value));
  return std::nullopt;
}

static std::optional<Item> compare(StringRef op, double lhs, double rhs) {
  if (op == "eq")
    return Item::boolean(lhs == rhs);
  if (op == "ne")
    return Item::boolean(lhs != rhs);
  if (op == "lt")
    return Item::boolean(lhs < rhs);
  if (op == "le")
    return Item::boolean(lhs <= rhs);
  if (op == "gt")
    return Item::boolean(lhs > rhs);
  if (op == "ge")
    return Item::boolean(lhs >= rhs);
  return std::nullopt;
}

static std::optional<Item> integers(StringRef op, int64_t lhs, int64_t rhs) {
  // Wraps as the machine does, without its undefined behaviour.
  auto a = uint64_t(lhs), b = uint64_t(rhs);
  if (op == "add")
    return Item::integerOf(int64_t(a + b));
  if (op == "sub")
    return Item::integerOf(int64_t(a - b));
  if (op == "mul")
    return Item::integerOf(int64_t(a * b));
  if (op == "min")
    return Item::integerOf(std::min(lhs, rhs));
  if (op == "max")
    return Item::integerOf(std::max(lhs, rhs));
  if (op == "__and__")
    return Item::integerOf(lhs & rhs);
  if (op == "__or__")
    return Item::integerOf(lhs | rhs);
  if (op == "__xor__")
    return Item::integerOf(lhs ^ rhs);
  if (rhs == 0 || rhs == -1) {
    if (op == "floordiv" && rhs)
      return Item::integerOf(int64_t(-a));
    if (op == "remainder" && rhs)
      return Item::integerOf(0);
    return std::nullopt;
  }
  if (op == "floordiv")
    return Item::integerOf(floorDivide(lhs, rhs));
  if (op == "remainder")
    return Item::integerOf(lhs - floorDivide(lhs, rhs) * rhs);
  return std::nullopt;
}

static std::optional<Item> floats(StringRef op, double lhs, double rhs) {
  if (op == "add")
    return Item::floating(lhs + rhs);
  if (op == "sub")
    return Item::floating(lhs - rhs);
  if (op == "mul")
    return Item::floating(lhs * rhs);
  if (op == "min")
    return Item::floating(std::min(lhs, rhs));
  if (op == "max")
    return Item::floating(std::max(lhs, rhs));
  if (op == "pow")
    return Item::floating(std::pow(lhs, rhs));
  if (rhs == 0)
    return std::nullopt;
  if (op == "div" || op == "truediv")
    return Item::floating(lhs / rhs);
  if (op == "floordiv")
    return Item::floating(std::floor(lhs / rhs));
  if (op == "remainder")
    return Item::floating(lhs - std::floor(lhs / rhs) * rhs);
  return std::nullopt;
}

std::optional<Item> fold::binary(StringRef op, const Item &lhs,
                                 const Item &rhs) {
  if (std::optional<Item> result = compare(op, lhs.number(), rhs.number()))
    return result;
  bool bothBool = lhs.kind == Kind::Bool && rhs.kind == Kind::Bool;
  if (bothBool && (op == "__and__" || op == "__or__" || op == "__xor__")) {
    bool a = lhs.integer, b = rhs.integer;
    return Item::boolean(op == "__and__"  ? a && b
                         : op == "__or__" ? a || b
                                          : a != b);
  }
  bool isFloat = lhs.kind == Kind::Float || rhs.kind == Kind::Float;
  if (!isFloat && op != "div" && op != "truediv") {
    if (op != "pow")
      return integers(op, lhs.integer, rhs.integer);
    double power = std::pow(lhs.number(), rhs.number());
    if (rhs.integer >= 0 && std::fabs(power) < 9e15)
      return Item::integerOf(int64_t(power));
  }
  return floats(op, lhs.number(), rhs.number());
}

std::optional<Item> fold::strings(StringRef op, const Item &lhs,
                                  const Item &rhs) {
  if (op == "eq")
    return Item::boolean(lhs.text == rhs.text);
  if (op == "ne")
    return Item::boolean(lhs.text != rhs.text);
  if (op == "add" && lhs.kind == Kind::String)
    return Item::string(lhs.text + rhs.text);
  return std::nullopt;
}

std::optional<bool> fold::equalLists(const Item &lhs, const Item &rhs) {
  if (!lhs.collection->known || !rhs.collection->known)
    return std::nullopt;
  const std::vector<Item> &left = lhs.collection->items;
  const std::vector<Item> &right = rhs.collection->items;
  if (left.size() != right.size())
    return false;
  bool decided = true;
  for (auto [a, b] : llvm::zip(left, right)) {
    if (a.isStatic() && b.isStatic()) {
      if (a.number() != b.number())
        return false;
    } else if (!isSame(a, b)) {
      decided = false;
    }
  }
  return decided ? std::optional(true) : std::nullopt;
}
