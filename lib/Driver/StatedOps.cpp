//===- StatedOps.cpp - What a project states of its own ops
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/StatedOps.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/CustomOps.h"
#include "mpopt/Dialect/TypeInference.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Driver/OptionValues.h"
#include "mpopt/Import/Import.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Report/Keys.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;
using llvm::Error;

//===----------------------------------------------------------------------===//
// The option
//===----------------------------------------------------------------------===//

namespace {
/// Reads the entry of one op, `KEY=VALUE;...`.
class EntryReader {
public:
  explicit EntryReader(StringRef name) : name(name) {}

  llvm::Expected<StatedOp> read(StringRef text);

private:
  Error fail(const Twine &text) const {
    return llvm::createStringError("--op: '" + name + "': " + text.str());
  }
  Error readFact(StringRef key, StringRef value);
  Error readRange(StringRef value);
  Error readDtypes(StringRef value);
  Error readFormat(StringRef key, StringRef value, const FloatFormat *&format);
  /// Finite numbers, separated by commas.
  template <typename Range>
  Error readNumbers(StringRef key, StringRef value, Range &numbers, bool whole,
                    double least);
  Error readNumber(StringRef key, StringRef value, double &number,
                   double least);
  Error complete();

  std::string name;
  std::set<StringRef> given;
  StatedOp stated;
};
} // namespace

Error EntryReader::readRange(StringRef value) {
  llvm::Expected<Interval> range = parseInterval(keys::kRange, value);
  if (!range)
    return fail(llvm::toString(range.takeError()));
  if (std::isinf(range->lo) || std::isinf(range->hi))
    return fail("range: '" + value + "' is not finite");
  stated.range = *range;
  return Error::success();
}

Error EntryReader::readFormat(StringRef key, StringRef value,
                              const FloatFormat *&format) {
  format = FloatFormat::byName(value);
  if (format)
    return Error::success();
  return fail(key + ": '" + value + "' is no dtype: f32, f16, bf16 ...");
}

Error EntryReader::readDtypes(StringRef value) {
  SmallVector<StringRef> words;
  value.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words)
    if (Error error = readFormat("dtypes", word, stated.dtypes.emplace_back()))
      return error;
  return Error::success();
}

template <typename Range>
Error EntryReader::readNumbers(StringRef key, StringRef value, Range &numbers,
                               bool whole, double least) {
  SmallVector<StringRef> words;
  value.split(words, ',');
  for (StringRef word : words) {
    std::optional<double> number = parseNumber(word);
    // A dim that an int64_t holds.
    if (!number || std::isinf(*number) || *number < least ||
        (whole && (*number != std::floor(*number) || *number > 0x1p48)))
      return fail(key + ": '" + word + "' is no such number");
    numbers.push_back(static_cast<std::decay_t<decltype(numbers[0])>>(*number));
  }
  return Error::success();
}

Error EntryReader::readNumber(StringRef key, StringRef value, double &number,
                              double least) {
  SmallVector<double, 1> numbers;
  if (Error error = readNumbers(key, value, numbers, /*whole=*/false, least))
    return error;
  if (numbers.size() != 1)
    return fail(key + ": '" + value + "' is not one number");
  number = numbers.front();
  return Error::success();
}

Error EntryReader::readFact(StringRef key, StringRef value) {
  if (!given.insert(key).second)
    return fail("two values for '" + key + "'");
  if (key == keys::kRange)
    return readRange(value);
  if (key == "dtypes")
    return readDtypes(value);
  if (key == "mean")
    return readNumber(key, value, stated.mean, -kInfinity);
  if (key == keys::kStd)
    return readNumber(key, value, stated.deviation, 0);
  if (key == "slope")
    return readNumbers(key, value, stated.slopes, /*whole=*/false, 0);
  if (key == "accumulator")
    return readFormat(key, value, stated.accumulator);
  if (key == "dtype")
    return readFormat(key, value, stated.dtype);
  SmallVector<int64_t> numbers;
  bool isShape = key == keys::kShape;
  if (!isShape && key != "terms" && key != "like")
    return fail("there is no '" + key +
                "': range, mean, std, slope, dtypes, accumulator, terms, like, "
                "shape or dtype");
  if (isShape && value.empty())
    return stated.shape.emplace(), Error::success();
  if (Error error =
          readNumbers(key, value, numbers, /*whole=*/true, isShape ? -1 : 0))
    return error;
  if (isShape)
    return stated.shape = std::move(numbers), Error::success();
  if (numbers.size() != 1)
    return fail(key + ": '" + value + "' is not one number");
  if (key == "like")
    stated.like = numbers.front();
  else
    stated.terms = numbers.front();
  return Error::success();
}

/// A bound alone says no more than that: uniform on it.
Error EntryReader::complete() {
  for (StringRef needed :
       {StringRef(keys::kRange), StringRef("slope"), StringRef("dtypes")})
    if (!given.count(needed))
      return fail("'" + needed + "' is missing");
  auto [lo, hi] = stated.range;
  if (given.count("mean") != given.count(keys::kStd))
    return fail("'mean' and 'std' go together");
  if (!given.count(keys::kStd)) {
    stated.mean = lo / 2 + hi / 2;
    stated.deviation = (hi / 2 - lo / 2) / std::sqrt(3.0);
  }
  if (stated.mean < lo || stated.mean > hi)
    return fail("the mean is outside of the range");
  return Error::success();
}

llvm::Expected<StatedOp> EntryReader::read(StringRef text) {
  SmallVector<StringRef> facts;
  text.split(facts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef fact : facts) {
    auto [key, value] = fact.split('=');
    if (Error error = readFact(key, value))
      return std::move(error);
  }
  if (Error error = complete())
    return std::move(error);
  return std::move(stated);
}

Error mpopt::parseStatedOp(StringRef text, StatedOps &ops) {
  auto [name, facts] = text.split('=');
  if (name.empty() || facts.empty())
    return llvm::createStringError("--op: '" + text +
                                   "' is not NAME=KEY=VALUE;...");
  llvm::Expected<StatedOp> stated = EntryReader(name).read(facts);
  if (!stated)
    return stated.takeError();
  if (!ops.try_emplace(name.str(), std::move(*stated)).second)
    return llvm::createStringError("--op: two entries for '" + name + "'");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static Type typeOf(const FloatFormat &format, MLIRContext *context) {
  return parseType(format.name, context);
}

/// The result that is read; nothing if several are, as an entry is about one.
static std::optional<OpResult> findRead(mp::OpaqueOp op) {
  std::optional<OpResult> found;
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    if (found)
      return std::nullopt;
    found = result;
  }
  return found;
}

static Error fail(mp::OpaqueOp op, const Twine &text) {
  return llvm::createStringError("--op: '" + op.getName() + "' ('" +
                                 getOpName(op) + "') " + text.str());
}

static Error replace(mp::OpaqueOp op, const StatedOp &stated) {
  std::optional<OpResult> read = findRead(op);
  size_t operands = op.getInputs().size();
  if (!read || op->getNumRegions() != 0)
    return fail(op, "has several results that are read, or bodies, of which an "
                    "entry says nothing");
  if (stated.like >= int64_t(operands))
    return fail(op, "has no operand " + Twine(stated.like) +
                        ", whose shape its result is stated to have");
  if (stated.slopes.size() != 1 && stated.slopes.size() != operands)
    return fail(op, "has " + Twine(operands) + " operands and " +
                        Twine(stated.slopes.size()) + " slopes");
  OpBuilder builder(op);
  MLIRContext *context = op.getContext();
  SmallVector<Attribute> dtypes;
  for (const FloatFormat *format : stated.dtypes)
    dtypes.push_back(TypeAttr::get(typeOf(*format, context)));
  auto custom = mp::CustomOp::create(
      builder, op.getLoc(), read->getType(), op.getInputs(), op.getName(),
      uint64_t(stated.like),
      stated.shape ? builder.getDenseI64ArrayAttr(*stated.shape) : nullptr,
      stated.dtype ? TypeAttr::get(typeOf(*stated.dtype, context)) : nullptr,
      llvm::APFloat(stated.range.lo), llvm::APFloat(stated.range.hi),
      llvm::APFloat(stated.mean), llvm::APFloat(stated.deviation),
      stated.slopes, builder.getArrayAttr(dtypes),
      typeOf(*stated.accumulator, context),
      stated.terms ? builder.getI64IntegerAttr(*stated.terms) : nullptr);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    custom->setDiscardableAttr(attribute.getName(), attribute.getValue());
  read->replaceAllUsesWith(custom.getResult());
  op.erase();
  return Error::success();
}

/// The entry of an op; those of TorchScript have a name for the overload, too.
static const StatedOp *findEntry(const StatedOps &ops, StringRef name) {
  auto found = ops.find(name.str());
  if (found == ops.end())
    found = ops.find(name.rsplit('.').first.str());
  return found == ops.end() ? nullptr : &found->second;
}

Error mpopt::replaceStatedOps(const StatedOps &ops, ImportResult &imported) {
  SmallVector<mp::OpaqueOp> found;
  imported.module->walk([&](mp::OpaqueOp op) {
    if (findEntry(ops, op.getName()) && !op->use_empty())
      found.push_back(op);
  });
  if (found.empty())
    return Error::success();
  auto &unmodelled = imported.coverage.unmodelled;
  for (mp::OpaqueOp op : found) {
    if (auto counted = unmodelled.find(op.getName().str());
        counted != unmodelled.end()) {
      imported.coverage.modelled += counted->second;
      unmodelled.erase(counted);
    }
    if (Error error = replace(op, *findEntry(ops, op.getName())))
      return error;
  }
  std::string why;
  ScopedDiagnosticHandler quiet(imported.module->getContext(),
                                [&](Diagnostic &diagnostic) {
                                  if (why.empty())
                                    why = diagnostic.str();
                                  return success();
                                });
  if (succeeded(inferAllTypes(*imported.module)))
    return Error::success();
  return llvm::createStringError("--op: the shapes or dtypes that are stated "
                                 "do not fit the model: " +
                                 why);
}
