//===- ScalarFold.cpp - Python's arithmetic on what is known
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScalarFold.h"

#include "llvm/ADT/StringMap.h"

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

/// An integer, unless it is out of range.
static std::optional<Item> toInteger(double value) {
  if (!(std::fabs(value) < 9e18))
    return std::nullopt;
  return Item::integerOf(int64_t(value));
}

/// The functions of a number that give a float.
static const llvm::StringMap<double (*)(double)> &floatFunctions() {
  using F = double (*)(double);
  static const llvm::StringMap<F> functions = {
      {"Float", [](double x) { return x; }},
      {"FloatImplicit", [](double x) { return x; }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
  };
  return functions;
}

/// The questions about a number.
static const llvm::StringMap<bool (*)(double)> &predicates() {
  using F = bool (*)(double);
  static const llvm::StringMap<F> functions = {
      {"__not__", [](double x) { return x == 0; }},
      {"Bool", [](double x) { return x != 0; }},
      {"isinf", [](double x) { return std::isinf(x); }},
      {"isnan", [](double x) { return std::isnan(x); }},
  };
  return functions;
}

std::optional<Item> fold::unary(StringRef op, const Item &x) {
  double value = x.number();
  if (auto function = floatFunctions().lookup(op))
    return Item::floating(function(value));
  if (auto predicate = predicates().lookup(op))
    return Item::boolean(predicate(value));
  bool isFloat = x.kind == Kind::Float;
  if (op == "neg")
    return isFloat ? Item::floating(-value)
                   : Item::integerOf(-uint64_t(x.integer));
  if (op == "abs")
    return isFloat ? Item::floating(std::fabs(value))
                   : Item::integerOf(std::abs(x.integer));
  if (op == "Int" || op == "IntImplicit" || op == "trunc")
    return isFloat ? toInteger(std::trunc(value)) : Item::integerOf(x.integer);
  if (op == "ceil")
    return toInteger(std::ceil(value));
  if (op == "floor")
    return toInteger(std::floor(value));
  if (op == "ScalarImplicit")
    return x;
  return std::nullopt;
}

static std::optional<Item> compare(StringRef op, double lhs, double rhs) {
  using F = bool (*)(double, double);
  static const llvm::StringMap<F> functions = {
      {"eq", [](double a, double b) { return a == b; }},
      {"ne", [](double a, double b) { return a != b; }},
      {"lt", [](double a, double b) { return a < b; }},
      {"le", [](double a, double b) { return a <= b; }},
      {"gt", [](double a, double b) { return a > b; }},
      {"ge", [](double a, double b) { return a >= b; }},
  };
  if (F function = functions.lookup(op))
    return Item::boolean(function(lhs, rhs));
  return std::nullopt;
}

static std::optional<Item> integers(StringRef op, int64_t lhs, int64_t rhs) {
  using F = int64_t (*)(int64_t, int64_t);
  // Sums and products wrap as the machine's do, without the undefined
  // behaviour of C++.
  static const llvm::StringMap<F> functions = {
      {"add",
       [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }},
      {"sub",
       [](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }},
      {"mul",
       [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }},
      {"min", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"max", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"__and__", [](int64_t a, int64_t b) { return a & b; }},
      {"__or__", [](int64_t a, int64_t b) { return a | b; }},
      {"__xor__", [](int64_t a, int64_t b) { return a ^ b; }},
  };
  if (F function = functions.lookup(op))
    return Item::integerOf(function(lhs, rhs));
  if (rhs == 0)
    return std::nullopt;
  // By -1 the least integer overflows.
  if (op == "floordiv")
    return Item::integerOf(rhs == -1 ? int64_t(-uint64_t(lhs))
                                     : floorDivide(lhs, rhs));
  if (op == "remainder")
    return Item::integerOf(rhs == -1 ? 0 : lhs - floorDivide(lhs, rhs) * rhs);
  return std::nullopt;
}

static std::optional<Item> floats(StringRef op, double lhs, double rhs) {
  using F = double (*)(double, double);
  static const llvm::StringMap<F> functions = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"min", [](double a, double b) { return std::min(a, b); }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
  };
  // Python raises an exception where the divisor is 0.
  static const llvm::StringMap<F> quotients = {
      {"div", [](double a, double b) { return a / b; }},
      {"truediv", [](double a, double b) { return a / b; }},
      {"floordiv", [](double a, double b) { return std::floor(a / b); }},
      {"remainder",
       [](double a, double b) { return a - std::floor(a / b) * b; }},
  };
  if (F function = functions.lookup(op))
    return Item::floating(function(lhs, rhs));
  if (F quotient = quotients.lookup(op); quotient && rhs != 0)
    return Item::floating(quotient(lhs, rhs));
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
