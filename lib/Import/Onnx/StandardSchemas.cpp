//===- StandardSchemas.cpp - The standard's operators, on demand
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StandardSchemas.h"

#include "onnx/defs/operator_sets.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <mutex>

using namespace mpopt;

namespace {
/// A definition that is made when it is asked for.
struct Definition {
  int since;
  onnx::OpSchema (*make)();
  const onnx::OpSchema *made;
};

class Definitions {
public:
  Definitions();
  const onnx::OpSchema *find(llvm::StringRef type, int version);

private:
  std::mutex mutex;
  llvm::StringMap<llvm::SmallVector<Definition, 4>> byType;
};
} // namespace

Definitions::Definitions() : byType(512) {
#define MPOPT_SCHEMA(Type, Since)                                              \
  byType[#Type].push_back(                                                     \
      {Since,                                                                  \
       &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(           \
           Onnx, Since, Type)>,                                                \
       nullptr});
#include "StandardSchemas.inc"
#undef MPOPT_SCHEMA
}

const onnx::OpSchema *Definitions::find(llvm::StringRef type, int version) {
  auto known = byType.find(type);
  if (known == byType.end())
    return nullptr;
  Definition *newest = nullptr;
  for (Definition &definition : known->second)
    if (definition.since <= version &&
        (!newest || definition.since > newest->since))
      newest = &definition;
  if (!newest)
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (!newest->made) {
    auto *made = new onnx::OpSchema(newest->make());
    made->Finalize();
    newest->made = made;
  }
  return newest->made;
}

const onnx::OpSchema *onnx_import::findStandardSchema(llvm::StringRef type,
                                                      int version) {
  // Never destroyed, nor are the definitions: that takes as long as making
  // them.
  static Definitions &definitions = *new Definitions;
  return definitions.find(type, version);
}
