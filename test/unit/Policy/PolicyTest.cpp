//===- PolicyTest.cpp - Policy tables: built in and of a user
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Policy/Policy.h"

#include "gtest/gtest.h"

using namespace mpopt;

static Policy load(llvm::StringRef name) {
  return llvm::cantFail(Policy::load(name));
}

static std::string getError(llvm::StringRef text) {
  llvm::Expected<Policy> policy = Policy::parse(text, "mine.json");
  return policy ? "" : llvm::toString(policy.takeError());
}

static std::string getErrorOf(llvm::StringRef rest) {
  return getError(R"({"name": "mine", "kind": "autocast",
    "framework": "pytorch", )" +
                  rest.str() + "}");
}

TEST(Policy, EveryBuiltinTableLoadsUnderItsName) {
  EXPECT_EQ(Policy::getBuiltinNames().size(), 6u);
  EXPECT_EQ(Policy::getBuiltinNames().front(), Policy::kDefault);
  for (llvm::StringRef name : Policy::getBuiltinNames()) {
    Policy policy = load(name);
    EXPECT_EQ(policy.getName(), name);
    EXPECT_FALSE(policy.getVersion().empty()) << name.str();
    EXPECT_FALSE(policy.getSource().empty()) << name.str();
  }
}

TEST(Policy, CudaKeepsExponentialsAndCpuDoesNot) {
  Policy cuda = load("pytorch-cuda-2.14"), cpu = load("pytorch-cpu-2.14");
  EXPECT_EQ(cuda.lookup({"exp"}), Category::Fp32);
  EXPECT_EQ(cuda.lookup({"softmax.int"}), Category::Fp32);
  EXPECT_EQ(cuda.lookup({"norm.Scalar"}), Category::Fp32);
  EXPECT_EQ(cuda.lookup({"mm"}), Category::Lower);
  EXPECT_EQ(cuda.lookup({"atan2"}), Category::Promote);
  EXPECT_EQ(cuda.lookup({"binary_cross_entropy"}), Category::Banned);
  EXPECT_EQ(cuda.lookup({"square"}), Category::Fp32);
  EXPECT_EQ(cuda.lookup({"tanh"}), std::nullopt);
  EXPECT_EQ(cpu.lookup({"exp"}), std::nullopt);
  EXPECT_EQ(cpu.lookup({"binary_cross_entropy"}), Category::Fp32);
  EXPECT_EQ(cpu.lookup({"cat"}), Category::Promote);
}

TEST(Policy, TheFirstListedNameDecides) {
  Policy cpu = load("pytorch-cpu-2.14");
  EXPECT_EQ(cpu.lookup({"no_such_op", "mm", "avg_pool3d"}), Category::Lower);
  EXPECT_EQ(cpu.lookup({"avg_pool3d", "mm"}), Category::Fp32);
  EXPECT_EQ(cpu.lookup({}), std::nullopt);
}

TEST(Policy, ColoringAndConverters) {
  Policy tf = load("tensorflow-cuda");
  EXPECT_EQ(tf.getKind(), PolicyKind::GraphColoring);
  EXPECT_EQ(tf.lookup({"MatMul"}), Category::Allow);
  EXPECT_EQ(tf.lookup({"Softmax"}), Category::Infer);
  EXPECT_EQ(tf.lookup({"Mean"}), Category::Deny);
  EXPECT_EQ(load("tensorflow-mkl-bf16").lookup({"Mean"}), Category::Infer);
  EXPECT_EQ(tf.lookup({"Relu"}), Category::Clear);
  EXPECT_EQ(tf.getFixedOperands({"FusedBatchNormV3"}).size(), 4u);

  Policy ort = load("onnxruntime-float16"),
         occ = load("onnxconverter-common-float16");
  EXPECT_EQ(ort.getKind(), PolicyKind::Converter);
  EXPECT_EQ(ort.lookup({"Resize"}), std::nullopt);
  EXPECT_EQ(occ.lookup({"Resize"}), Category::Block);
  EXPECT_EQ(ort.getFixedOperands({"Resize"}), llvm::ArrayRef<unsigned>({2}));
  EXPECT_TRUE(occ.getFixedOperands({"Resize"}).empty());
  EXPECT_EQ(occ.getMaxFinite(), 1e4);
  EXPECT_EQ(tf.getMaxFinite(), std::nullopt);
}

TEST(Policy, AnOwnTableIsRead) {
  llvm::Expected<Policy> policy = Policy::parse(
      R"({"name": "mine", "kind": "autocast", "framework": "pytorch",
          "categories": {"fp32": ["tanh"]}})",
      "mine.json");
  ASSERT_TRUE(bool(policy));
  EXPECT_EQ(policy->getName(), "mine");
  EXPECT_EQ(policy->lookup({"tanh"}), Category::Fp32);
  EXPECT_EQ(policy->lookup({"exp"}), std::nullopt);
}

TEST(Policy, ErrorsNameTheKey) {
  EXPECT_EQ(getError("{}"), "policy 'mine.json': name: missing");
  EXPECT_EQ(getError("[]"),
            "policy 'mine.json': not a policy table: must be a JSON object");
  EXPECT_EQ(getErrorOf(R"("categories": {"fp33": []})"),
            "policy 'mine.json': categories.fp33: unknown category");
  // A category of another kind of policy.
  EXPECT_EQ(getErrorOf(R"("categories": {"deny": []})"),
            "policy 'mine.json': categories.deny: unknown category");
  EXPECT_EQ(getErrorOf(R"("categories": {"fp32": "exp"})"),
            "policy 'mine.json': categories.fp32: must be a list of op names");
  EXPECT_EQ(getErrorOf(R"("categories": {}, "colour": 1)"),
            "policy 'mine.json': colour: unknown key");
  EXPECT_EQ(getErrorOf(R"("categories": {}, "max_finite": -1)"),
            "policy 'mine.json': max_finite: must be a positive number");
  EXPECT_EQ(getErrorOf(R"("categories": {}, "fixed_operands": {"a": [-1]})"),
            "policy 'mine.json': fixed_operands.a: must be a list of operand "
            "numbers");
  EXPECT_NE(getErrorOf(R"("categories": {"fp32": ["a"], "promote": ["a"]})")
                .find("'a' is listed as"),
            std::string::npos);
  EXPECT_NE(getError("{\"name\": }").find("not JSON"), std::string::npos);
  EXPECT_NE(getError(std::string(100000, '[')).find("nested too deep"),
            std::string::npos);
}

TEST(Policy, AMissingFileNamesTheBuiltinOnes) {
  llvm::Expected<Policy> policy = Policy::load("/no/such/file");
  ASSERT_FALSE(bool(policy));
  std::string message = llvm::toString(policy.takeError());
  EXPECT_NE(message.find("none of pytorch-cuda-2.14"), std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}
