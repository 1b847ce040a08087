//===- CodePrinter.cpp - The code of a module, as archives hold it --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CodePrinter.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstring>
#include <stdexcept>

using namespace mpopt::torchscript;
namespace jit = torch::jit;

CodePrinter::CodePrinter(std::vector<c10::IValue> given)
    : constants(std::move(given)), known(constants.size()) {}

void CodePrinter::print(const jit::Module &module) {
  printType(module.type());
  // Classes that only values have, behind attributes of an interface's type.
  printTypesOf(module._ivalue());
  for (size_t index = 0; index < needed.size(); ++index)
    printType(needed[index]);
}

void CodePrinter::printType(const c10::NamedTypePtr &type) {
  if (!type->name() || !seen.insert(type.get()).second)
    return;
  // Classes of LibTorch's own have no code.
  if (type->name()->qualifiedName().rfind("__torch__.torch.classes.", 0) == 0)
    return;
  auto file = files.find(type->name()->prefix());
  if (file == files.end())
    file = files
               .emplace(type->name()->prefix(),
                        jit::PythonPrint(constants, needed, nullptr,
                                         /*enforce_importable=*/true))
               .first;
  file->second.printNamedType(type);
}

void CodePrinter::printTypesOf(const c10::IValue &value) {
  if (value.isCustomClass())
    return;
  if (value.isObject()) {
    if (!seen.insert(value.toObject().get()).second)
      return;
    printType(value.toObjectRef().type());
    for (const c10::IValue &slot : value.toObjectRef().slots())
      printTypesOf(slot);
  } else if (value.isTuple()) {
    if (auto type = value.type()->cast<c10::TupleType>(); type && type->name())
      printType(type);
    for (const c10::IValue &member : value.toTupleRef().elements())
      printTypesOf(member);
  } else if (value.isList()) {
    for (const c10::IValue &member : value.toListRef())
      printTypesOf(member);
  } else if (value.isGenericDict()) {
    for (const auto &entry : value.toGenericDict()) {
      printTypesOf(entry.key());
      printTypesOf(entry.value());
    }
  } else if (value.isEnum()) {
    printType(value.toEnumHolder()->type());
  }
}

uint64_t CodePrinter::version() const {
  uint64_t version = 0;
  for (const auto &[qualifier, file] : files)
    version = std::max(version, file.minVersion());
  return version;
}

/// Bit by bit: a NaN is like itself.
static bool isSameTensor(const c10::IValue &lhs, const c10::IValue &rhs) {
  if (!lhs.isTensor() || !rhs.isTensor())
    return false;
  const at::Tensor &first = lhs.toTensor(), &second = rhs.toTensor();
  if (first.layout() != at::kStrided || second.layout() != at::kStrided ||
      first.scalar_type() != second.scalar_type() ||
      first.sizes() != second.sizes() || first.is_quantized() ||
      second.is_quantized())
    return false;
  at::Tensor left = first.contiguous(), right = second.contiguous();
  return !left.nbytes() || !std::memcmp(left.const_data_ptr(),
                                        right.const_data_ptr(), left.nbytes());
}

// LibTorch's printer does not find a constant again that is not equal to itself
// (it has a NaN). Its number is replaced by the archive's own one, filled up
// with blanks, since the lines' origins are kept by their place in the text.
std::string CodePrinter::mendConstants(std::string code) const {
  for (size_t added = known; added < constants.size(); ++added) {
    std::string name = "CONSTANTS.c" + std::to_string(added);
    for (size_t at = code.find(name); at != std::string::npos;
         at = code.find(name, at + 1)) {
      if (at + name.size() < code.size() && isdigit(code[at + name.size()]))
        continue;
      size_t same = 0;
      while (same < known && !isSameTensor(constants[same], constants[added]))
        ++same;
      if (same == known)
        throw std::runtime_error(
            "its code needs a constant that the archive does not have");
      std::string own = "CONSTANTS.c" + std::to_string(same);
      own.resize(name.size(), ' ');
      code.replace(at, name.size(), own);
    }
  }
  return code;
}

/// Places in the code, each with its line in the original source: tuples of
/// offset, ((text, file, first line), begin, end), tag.
static std::string pickleRanges(const jit::SourceRangeRecords &ranges) {
  std::unordered_map<jit::Source *, c10::IValue> sources;
  auto convert = [&](const jit::SourceRange &range) -> c10::IValue {
    jit::Source *source = range.source().get();
    auto [entry, isNew] = sources.try_emplace(source);
    if (isNew) {
      c10::IValue file;
      if (source && source->filename())
        file = *source->filename();
      entry->second = c10::ivalue::Tuple::create(
          {source ? source->text_str().str() : std::string(), file,
           source ? int64_t(source->starting_line_no()) : int64_t(0)});
    }
    return c10::ivalue::Tuple::create(
        {entry->second, int64_t(range.start()), int64_t(range.end())});
  };
  std::vector<c10::IValue> rows;
  for (const jit::TaggedRange &range : ranges)
    rows.push_back(c10::ivalue::Tuple::create(
        {int64_t(range.bytes), convert(range.range), int64_t(-1)}));
  std::vector<at::Tensor> tensors;
  std::vector<char> bytes =
      jit::pickle(c10::ivalue::Tuple::create(std::move(rows)), &tensors);
  return std::string(bytes.begin(), bytes.end());
}

CodePrinter::Records CodePrinter::records() const {
  Records records;
  for (const auto &[qualifier, file] : files) {
    std::string name = "code/";
    for (char c : qualifier)
      name += c == '.' ? '/' : c;
    name += ".py";
    records.push_back({name, mendConstants(file.str())});
    records.push_back({name + ".debug_pkl", pickleRanges(file.ranges())});
  }
  return records;
}
