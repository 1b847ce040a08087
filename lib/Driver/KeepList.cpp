//===- KeepList.cpp - mpopt --keep-fp32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/KeepList.h"

#include "mpopt/Report/JsonSupport.h"
#include "mpopt/Support/Printable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mpopt;
using llvm::StringRef;
using llvm::json::OStream;

namespace {
/// The name by which a form of the list finds an op.
enum class FoundBy { Node, Tensors };

/// A form of the list: what reads it, by the ending of the file's name.
struct Form {
  StringRef ending;
  FoundBy by;
  /// The ops have what they are found by.
  void (*write)(OStream &json, const Form &form, llvm::ArrayRef<KeptOpRef> ops);
  /// The key of a form that is a list of names.
  StringRef key = {};
};
} // namespace

static void writeOwn(OStream &json, llvm::ArrayRef<KeptOpRef> ops) {
  json.object([&] {
    json.attribute("schema", "mpopt-keep/1");
    json.attributeArray("ops", [&] {
      for (const KeptOpRef &kept : ops)
        json.object([&] {
          json.attribute("name", jsonText(kept.op.name));
          json.attribute("type", jsonText(kept.op.type));
          json.attributeArray("why", [&] {
            for (const std::string &print : kept.why)
              json.value(print);
          });
          if (!kept.reason.empty())
            json.attribute("reason", jsonText(kept.reason));
        });
    });
  });
}

/// A regular expression that matches the name. One line: what would end it is
/// written as printable() does, which is an escape of regular expressions, too.
static std::string toPattern(StringRef name) {
  constexpr StringRef special = "\\^$.|?*+()[]{}";
  std::string pattern;
  while (!name.empty()) {
    size_t length = std::min(name.find_first_of(special), name.size());
    pattern += printable(name.take_front(length));
    name = name.drop_front(length);
    if (name.empty())
      break;
    pattern += '\\';
    pattern += name.front();
    name = name.drop_front();
  }
  return pattern;
}

static llvm::SetVector<StringRef> getNames(FoundBy by,
                                           llvm::ArrayRef<KeptOpRef> ops) {
  llvm::SetVector<StringRef> names;
  for (const KeptOpRef &kept : ops)
    if (by == FoundBy::Node)
      names.insert(kept.op.name);
    else
      names.insert_range(kept.outputs);
  return names;
}

static void writeNames(OStream &json, const Form &form,
                       llvm::ArrayRef<KeptOpRef> ops) {
  json.object([&] {
    json.attributeArray(form.key, [&] {
      for (StringRef name : getNames(form.by, ops))
        json.value(jsonText(name));
    });
  });
}

/// Names of types are those of the module `tensorrt`. Outputs of integers have
/// one type only, and are left out.
static void writeForTensorRT(OStream &json, const Form &,
                             llvm::ArrayRef<KeptOpRef> ops) {
  llvm::MapVector<StringRef, llvm::SetVector<StringRef>> layers;
  for (const KeptOpRef &kept : ops)
    layers[kept.op.name].insert_range(kept.outputs);
  json.object([&] {
    json.attributeObject("layers", [&] {
      for (auto &[name, outputs] : layers)
        json.attributeObject(jsonText(name), [&] {
          json.attribute("precision", "float32");
          json.attributeObject("outputs", [&] {
            for (StringRef output : outputs)
              json.attribute(jsonText(output), "float32");
          });
        });
    });
  });
}

/// Regular expressions: Python's re.match anchors them in front.
static void writePatterns(OStream &json, const Form &form,
                          llvm::ArrayRef<KeptOpRef> ops) {
  json.object([&] {
    json.attributeArray(form.key, [&] {
      for (StringRef name : getNames(form.by, ops))
        json.value(jsonText(toPattern(name) + "$"));
    });
  });
}

/// Encodings of tensors, one of which is a float's.
static void writeOverrides(OStream &json, const Form &form,
                           llvm::ArrayRef<KeptOpRef> ops) {
  json.object([&] {
    json.attributeObject("activation_encodings", [&] {
      for (StringRef name : getNames(form.by, ops))
        json.attributeArray(jsonText(name), [&] {
          json.object([&] {
            json.attribute("bitwidth", 32);
            json.attribute("dtype", "float");
          });
        });
    });
    json.attributeObject("param_encodings", [] {});
  });
}

/// A recipe: weights in FP16, but for those of the ops. A later entry wins, and
/// the scope of an op is its outputs' names with a semicolon after each.
static void writeForLiteRT(OStream &json, const Form &,
                           llvm::ArrayRef<KeptOpRef> ops) {
  auto entry = [&](const std::string &scope, StringRef algorithm,
                   llvm::function_ref<void()> more) {
    json.object([&] {
      json.attribute("regex", jsonText(scope));
      json.attribute("operation", "*");
      json.attribute("algorithm_key", algorithm);
      more();
    });
  };
  json.array([&] {
    entry(".*", "float_casting", [&] {
      json.attributeObject("op_config", [&] {
        json.attributeObject("weight_tensor_config", [&] {
          json.attribute("num_bits", 16);
          json.attribute("dtype", "FLOAT");
        });
        json.attribute("compute_precision", "FLOAT");
        json.attribute("explicit_dequantize", true);
      });
    });
    for (StringRef tensor : getNames(FoundBy::Tensors, ops))
      entry("(^|;)" + toPattern(tensor) + ";", "no_quantize", [] {});
  });
}

/// Files with another ending get mpopt's own form.
static constexpr Form kForms[] = {
    {".autocast.txt", FoundBy::Node, nullptr}, // no JSON
    {".ort.json", FoundBy::Node, writeNames, "node_block_list"},
    {".occ.json", FoundBy::Node, writeNames, "node_block_list"},
    {".trt.json", FoundBy::Node, writeForTensorRT},
    {".openvino.json", FoundBy::Tensors, writeNames, "tensors"},
    {".coreml.json", FoundBy::Node, writeNames, "ops"},
    {".litert.json", FoundBy::Tensors, writeForLiteRT},
    // Forms of quantisers: the ops that they leave in floats.
    {".ort-quant.json", FoundBy::Node, writeNames, "nodes_to_exclude"},
    {".modelopt.json", FoundBy::Node, writePatterns, "nodes_to_exclude"},
    {".nncf.json", FoundBy::Node, writeNames, "names"},
    {".qnn.json", FoundBy::Tensors, writeOverrides},
};

unsigned mpopt::writeKeepList(llvm::raw_ostream &os, StringRef file,
                              llvm::ArrayRef<KeptOpRef> ops) {
  const Form *form = llvm::find_if(kForms, [&](const Form &candidate) {
    return file.ends_with(candidate.ending);
  });
  bool isOwn = form == std::end(kForms);
  std::vector<KeptOpRef> found;
  llvm::copy_if(ops, std::back_inserter(found), [&](const KeptOpRef &kept) {
    return isOwn ||
           (form->by == FoundBy::Node ? !kept.unnamed : !kept.outputs.empty());
  });
  if (!isOwn && !form->write) {
    // Python's re.match anchors a pattern in front.
    for (StringRef name : getNames(form->by, found))
      os << toPattern(name) << "$\n";
    return ops.size() - found.size();
  }
  OStream json(os, /*IndentSize=*/2);
  if (isOwn)
    writeOwn(json, found);
  else
    form->write(json, *form, found);
  json.flush();
  os << '\n';
  return ops.size() - found.size();
}
