//===- StandardSchemasTest.cpp - Operators as the registry has them -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Import/Onnx/StandardSchemas.h"

#include <gtest/gtest.h>

using namespace mpopt::onnx_import;

static int newestVersion() {
  return onnx::OpSchemaRegistry::DomainToVersionRange::Instance()
      .Map()
      .at("")
      .second;
}

TEST(StandardSchemas, AreThoseOfTheRegistry) {
  for (const onnx::OpSchema &schema :
       onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty())
      continue;
    for (int version = 1; version <= newestVersion(); ++version) {
      const auto *expected =
          onnx::OpSchemaRegistry::Schema(schema.Name(), version);
      const auto *found = findStandardSchema(schema.Name(), version);
      ASSERT_EQ(!found, !expected) << schema.Name() << " " << version;
      if (!found)
        continue;
      EXPECT_EQ(found->Name(), expected->Name());
      EXPECT_EQ(found->SinceVersion(), expected->SinceVersion());
      EXPECT_EQ(found->min_input(), expected->min_input());
      EXPECT_EQ(found->max_output(), expected->max_output());
      EXPECT_EQ(found->HasFunction(), expected->HasFunction());
    }
  }
}

TEST(StandardSchemas, AreMadeOnce) {
  EXPECT_EQ(findStandardSchema("Relu", 14), findStandardSchema("Relu", 20));
  EXPECT_NE(findStandardSchema("Relu", 14), findStandardSchema("Relu", 13));
}

TEST(StandardSchemas, AreNoneOfOtherDomains) {
  EXPECT_EQ(findStandardSchema("Scaler", 20), nullptr);
  EXPECT_EQ(findStandardSchema("Relu", 0), nullptr);
}
