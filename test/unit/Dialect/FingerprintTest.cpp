//===- FingerprintTest.cpp - Structure, not names
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/Fingerprint.h"

#include "mpopt/Dialect/MPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace mpopt;

namespace {
struct FingerprintTest : testing::Test {
  FingerprintTest() { context.loadDialect<func::FuncDialect, mp::MPDialect>(); }

  // The fingerprints of all `mp` ops of a function body, in order.
  std::vector<std::string> get(const std::string &body) {
    modules.push_back(parseSourceString<ModuleOp>(
        "func.func @f(%x: tensor<4xf32>) {\n" + body + "\nreturn }", &context));
    Fingerprints fingerprints(*modules.back());
    std::vector<std::string> prints;
    modules.back()->walk([&](Operation *op) {
      if (op->getName().getDialectNamespace() == "mp")
        prints.push_back(fingerprints.get(op, "key"));
    });
    return prints;
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
};
} // namespace

TEST_F(FingerprintTest, IsSixteenHexDigits) {
  std::string print =
      get("%0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>")[0];
  EXPECT_EQ(print.size(), 16u);
  EXPECT_EQ(print.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(FingerprintTest, IgnoresNamesAndPassAttributes) {
  auto plain = get("%0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>");
  auto named = get("%other = mp.exp %x {mp.category = \"fp32\"} : "
                   "(tensor<4xf32>) -> tensor<4xf32> loc(\"name\")");
  EXPECT_EQ(plain, named);
}

TEST_F(FingerprintTest, SeesSmallConstants) {
  auto body = [](const char *value) {
    return std::string("%e = mp.constant dense<") + value +
           "> : tensor<1xf32>\n%0 = mp.add %x, %e : (tensor<4xf32>, "
           "tensor<1xf32>) -> tensor<4xf32>";
  };
  EXPECT_EQ(get(body("1.0e-5")), get(body("1.0e-5")));
  EXPECT_NE(get(body("1.0e-5"))[1], get(body("1.0e-8"))[1]);
}

TEST_F(FingerprintTest, SeesTwoStepsAndNoFurther) {
  auto chain = [](const char *first) {
    return std::string("%0 = mp.") + first +
           " %x : (tensor<4xf32>) -> tensor<4xf32>\n"
           "%1 = mp.neg %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
           "%2 = mp.neg %1 : (tensor<4xf32>) -> tensor<4xf32>\n"
           "%3 = mp.neg %2 : (tensor<4xf32>) -> tensor<4xf32>";
  };
  auto exp = get(chain("exp")), neg = get(chain("neg"));
  EXPECT_NE(exp[2], neg[2]);
  // Of the second chain it is the second op of that structure.
  EXPECT_EQ(exp[3] + "-2", neg[3]);
}

TEST_F(FingerprintTest, PassesByWhatExportersChoose) {
  auto plain = get("%0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n"
                   "%1 = mp.neg %0 : (tensor<4xf32>) -> tensor<4xf32>");
  auto other = get(
      "%b = mp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
      "%0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n"
      "%c = mp.cast %0 : (tensor<4xf32>) -> tensor<4xf16>\n"
      "%d = mp.cast %c : (tensor<4xf16>) -> tensor<4xf32>\n"
      "%s = mp.add %d, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
      "%1 = mp.neg %s : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(plain[1], other.back());
}

// By a constant, by a number that is computed from a shape, and not at all.
TEST_F(FingerprintTest, PassesByScales) {
  auto body = [](const std::string &scale) {
    return "%e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n" + scale +
           "\n%0 = mp.neg %s : (tensor<4xf32>) -> tensor<4xf32>";
  };
  const std::string type = " : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>";
  const std::string half = "%h = mp.constant dense<0.5> : tensor<1xf32>\n";
  const std::string root =
      "%d = mp.shape %x : (tensor<4xf32>) -> tensor<1xi64>\n"
      "%c = mp.cast %d : (tensor<1xi64>) -> tensor<1xf32>\n"
      "%r = mp.sqrt %c : (tensor<1xf32>) -> tensor<1xf32>\n";
  auto plain =
      get(body("%s = mp.identity %e : (tensor<4xf32>) -> tensor<4xf32>"));
  auto scaled = [&](const std::string &text) {
    return get(body(text + type)).back();
  };
  EXPECT_EQ(scaled(half + "%s = mp.mul %e, %h"), plain.back());
  EXPECT_EQ(scaled(root + "%s = mp.div %e, %r"), plain.back());
  EXPECT_NE(scaled(half + "%s = mp.add %e, %h"), plain.back());
  const std::string inverse =
      " : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>";
  EXPECT_NE(get(body(half + "%s = mp.div %h, %e" + inverse)).back(),
            plain.back());
}

// Random numbers differ from run to run, whatever they are made from.
TEST_F(FingerprintTest, PassesByWhatDependsOnNoInput) {
  auto body = [](const char *kind) {
    return std::string("%d = mp.shape %x : (tensor<4xf32>) -> tensor<1xi64>\n"
                       "%n = mp.") +
           kind +
           " : (tensor<1xi64>) -> tensor<4xf32>\n"
           "%e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n"
           "%m = mp.add %e, %n : (tensor<4xf32>, tensor<4xf32>) -> "
           "tensor<4xf32>\n"
           "%0 = mp.neg %m : (tensor<4xf32>) -> tensor<4xf32>";
  };
  auto plain = get("%e = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n"
                   "%0 = mp.neg %e : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(get(body("fill %d {value = dense<2.0> : tensor<1xf32>}")).back(),
            plain.back());
  EXPECT_NE(get(body("random_normal %d")).back(), plain.back());
}

TEST_F(FingerprintTest, IgnoresTheSizesOfWhatIsComputed) {
  auto body = [](const char *type) {
    std::string t = type;
    return "%s = mp.concat %x, %x {axis = 0 : i64} : (tensor<4xf32>, "
           "tensor<4xf32>) -> " +
           t + "\n%0 = mp.exp %s : (" + t + ") -> " + t;
  };
  EXPECT_EQ(get(body("tensor<8xf32>"))[1], get(body("tensor<?xf32>"))[1]);
}

// GELU by its erf, as a single op and written out with marks, between two ops.
TEST_F(FingerprintTest, TakesACompositeForOneOp) {
  const std::string before =
      "%0 = mp.neg %x : (tensor<4xf32>) -> tensor<4xf32>\n";
  const std::string after =
      "\n%9 = mp.exp %8 : (tensor<4xf32>) -> tensor<4xf32>";
  auto fused = get(
      before + "%8 = mp.gelu %0 : (tensor<4xf32>) -> tensor<4xf32>" + after);
  const std::string binary = "(tensor<4xf32>, tensor<f32>) -> tensor<4xf32>\n";
  auto written =
      get(before +
          "%r = mp.constant dense<1.41421354> : tensor<f32>\n"
          "%o = mp.constant dense<1.0> : tensor<f32>\n"
          "%h = mp.constant dense<0.5> : tensor<f32>\n"
          "%1 = mp.div %0, %r {mp.idiom = #mp.idiom<\"gelu\", 0, false>} : " +
          binary +
          "%2 = mp.erf %1 {mp.idiom = #mp.idiom<\"gelu\", 0, false>} : "
          "(tensor<4xf32>) -> tensor<4xf32>\n"
          "%3 = mp.add %2, %o {mp.idiom = #mp.idiom<\"gelu\", 0, false>} : " +
          binary +
          "%4 = mp.mul %0, %3 {mp.idiom = #mp.idiom<\"gelu\", 0, false>} : "
          "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
          "%8 = mp.mul %4, %h {mp.idiom = #mp.idiom<\"gelu\", 0, true>} : " +
          binary + after);
  ASSERT_EQ(fused.size(), 3u);
  ASSERT_EQ(written.size(), 10u);
  EXPECT_EQ(written[0], fused[0]);
  EXPECT_EQ(written[8], fused[1]);
  EXPECT_EQ(written[9], fused[2]);
  // Each other member is one of its own.
  std::set<std::string> distinct(written.begin(), written.end());
  EXPECT_EQ(distinct.size(), written.size());
}

TEST_F(FingerprintTest, CountsTheElementsOfTheWeightAndNotOfItsViews) {
  auto body = [](const char *rows) {
    std::string t = "tensor<" + std::string(rows) + "x4xf32>";
    return "%s = mp.constant dense<[" + std::string(rows) +
           ", 4]> : tensor<2xi64>\n"
           "%w = mp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
           "%v = mp.expand %w, %s : (tensor<4xf32>, tensor<2xi64>) -> " +
           t + "\n%0 = mp.add %x, %v : (tensor<4xf32>, " + t + ") -> " + t;
  };
  EXPECT_EQ(get(body("1")).back(), get(body("8")).back());
}

TEST_F(FingerprintTest, NumbersEqualOnes) {
  auto prints = get("%0 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>\n"
                    "%1 = mp.exp %x : (tensor<4xf32>) -> tensor<4xf32>");
  EXPECT_EQ(prints[0] + "-2", prints[1]);
}
