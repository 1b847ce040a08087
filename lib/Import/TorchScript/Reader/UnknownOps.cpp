//===- UnknownOps.cpp - Ops of libraries that are not there ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The complaint names the op and shows the call:
//
//   Unknown builtin op: torch_scatter::segment_max_csr.
//   ...
//     out, arg = ops.torch_scatter.segment_max_csr(src, ptr, out=None)
//                ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE
//
//===----------------------------------------------------------------------===//

#include "UnknownOps.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace mpopt::torchscript;
namespace jit = torch::jit;

// Schemas of ops that libtorch does not register, as their projects declare
// them.
static constexpr const char *kKnown[] = {
    "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> "
    "Tensor",
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, "
    "int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> "
    "Tensor",
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int "
    "pooled_height, int pooled_width) -> (Tensor, Tensor)",
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, "
    "Tensor mask, Tensor bias, int stride_h, int stride_w, int pad_h, int "
    "pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, "
    "bool use_mask) -> Tensor",
};

/// No op has more arguments or results.
static constexpr size_t kMostArguments = 64;

/// `NAMESPACE::NAME` of the complaint, or nothing.
static std::string findName(const std::string &failure) {
  static const std::string kComplaint = "Unknown builtin op: ";
  size_t at = failure.find(kComplaint);
  if (at == std::string::npos)
    return {};
  at += kComplaint.size();
  size_t end = at;
  while (end < failure.size() &&
         (std::isalnum(static_cast<unsigned char>(failure[end])) ||
          failure[end] == '_' || failure[end] == ':'))
    ++end;
  std::string name = failure.substr(at, end - at);
  size_t colons = name.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == name.size() ||
      name.size() > 256 || name.find(':', colons + 2) != std::string::npos)
    return {};
  return name;
}

/// The line of code that the complaint points at.
static std::string findCall(const std::string &failure) {
  size_t here = failure.find("<--- HERE");
  if (here == std::string::npos)
    return {};
  size_t end = failure.rfind('\n', here);
  if (end == std::string::npos || end == 0)
    return {};
  size_t begin = failure.rfind('\n', end - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return failure.substr(begin, end - begin);
}

namespace {
/// The op as a call shows it.
struct Call {
  size_t positional = 0, results = 1;
  std::vector<std::string> keywords;
};
} // namespace

/// Splits `text` at commas outside of brackets and strings, up to the bracket
/// that closes it.
static std::vector<std::string> splitArguments(const std::string &text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    quoted ^= c == '"';
    if (!quoted && (c == '(' || c == '[' || c == '{'))
      ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}') && depth-- == 0)
      break;
    if (!quoted && c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::erase_if(parts, [](const std::string &part) {
    return part.find_first_not_of(' ') == std::string::npos;
  });
  return parts;
}

static Call readCall(const std::string &line, const std::string &name) {
  Call call;
  std::string plain = name;
  plain.replace(plain.find("::"), 2, ".");
  size_t at = line.find("ops." + plain + "(");
  if (at == std::string::npos)
    return call;
  // `a, b = ops...`: one result for each target.
  size_t equals = line.find_last_not_of(' ', at ? at - 1 : 0);
  if (at && equals != std::string::npos && line[equals] == '=')
    call.results = splitArguments(line.substr(0, equals)).size();
  for (const std::string &argument :
       splitArguments(line.substr(at + plain.size() + 5))) {
    size_t begin = argument.find_first_not_of(' ');
    size_t end = begin;
    while (end < argument.size() &&
           (std::isalnum(static_cast<unsigned char>(argument[end])) ||
            argument[end] == '_'))
      ++end;
    bool named = end > begin && end < argument.size() && argument[end] == '=' &&
                 argument.substr(end, 2) != "==";
    if (named)
      call.keywords.push_back(argument.substr(begin, end - begin));
    else
      ++call.positional;
  }
  return call;
}

static std::string makeSchema(const std::string &name, const Call &call) {
  std::string schema = name + "(";
  if (call.keywords.empty()) {
    schema += "...";
  } else {
    for (size_t index = 0; index < call.positional; ++index)
      schema += "Any a" + std::to_string(index) + ", ";
    schema += "*";
    for (const std::string &keyword : call.keywords)
      schema += ", Any? " + keyword + "=None";
  }
  schema += ") -> ";
  if (call.results == 1)
    return schema + "Tensor";
  std::string results;
  for (size_t index = 0; index < call.results; ++index)
    results += (index ? ", " : "") + std::string("Tensor");
  return schema + "(" + results + ")";
}

bool mpopt::torchscript::declareUnknownOp(const std::string &failure) {
  static std::set<std::string> declared;
  std::string name = findName(failure);
  if (name.empty() || !declared.insert(name).second)
    return false;
  std::string schema;
  for (const char *known : kKnown)
    if (std::string(known).starts_with(name + "("))
      schema = known;
  if (schema.empty()) {
    Call call = readCall(findCall(failure), name);
    if (call.positional > kMostArguments || call.results == 0 ||
        call.results > kMostArguments || call.keywords.size() > kMostArguments)
      return false;
    schema = makeSchema(name, call);
  }
  jit::registerOperator(jit::Operator(
      schema,
      [](jit::Stack &) { throw std::runtime_error("an op without a kernel"); },
      c10::AliasAnalysisKind::CONSERVATIVE));
  return true;
}
