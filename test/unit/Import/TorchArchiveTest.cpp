//===- TorchArchiveTest.cpp - What an archive may hold --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/TorchScript/Archive.h"

#include "gtest/gtest.h"

using namespace mpopt::torchscript;
using namespace std::string_literals;
using std::string;

static string judge(const string &pickle) {
  if (llvm::Error error = inspectPickle(pickle))
    return llvm::toString(std::move(error));
  return "";
}

static string judgeSource(const string &source) {
  bool found = false;
  if (llvm::Error error = inspectSource(source, found))
    return llvm::toString(std::move(error));
  return found ? "found" : "";
}

TEST(Pickle, PlainValuesPass) {
  EXPECT_EQ(judge("\x80\x02N."), "");
  EXPECT_EQ(judge("\x80\x02]q"s + '\0' + "(K\x01K\x02" + "e."), "");
  EXPECT_EQ(judge("\x80\x02}(X\x01" + string(3, '\0') + "aK\x01" + "u."), "");
  EXPECT_EQ(judge("\x80\x02"
                  "ctorch._utils\n_rebuild_tensor_v2\nq" +
                  string(1, '\0') + ")R."),
            "");
}

TEST(Pickle, UnknownGlobalsAreRefused) {
  EXPECT_NE(judge("\x80\x02"
                  "cos\nsystem\n.")
                .find("'os.system'"),
            string::npos);
  EXPECT_NE(judge("\x80\x02"
                  "cbuiltins\neval\n."),
            "");
  // A name that only looks like one of ours.
  EXPECT_NE(judge("\x80\x02"
                  "ctorch\nload\n."),
            "");
  EXPECT_NE(judge("\x80\x02"
                  "ctorch.jit._pickle\nos\n."),
            "");
}

TEST(Pickle, UnknownOpcodesAreRefused) {
  // EXT1, INST, STACK_GLOBAL: Python's reader runs code for these.
  for (char opcode : {'\x82', 'i', '\x93'})
    EXPECT_NE(judge(string("\x80\x02") + opcode + "."), "");
}

TEST(Pickle, DamagedOnesAreRefused) {
  EXPECT_NE(judge(""), "");
  EXPECT_NE(judge("\x80\x02"), "");
  EXPECT_NE(judge("\x80\x02X\xff\xff\xff\xff"
                  "a."),
            "");
  EXPECT_NE(judge("\x80\x02"
                  "R."),
            "");
  EXPECT_NE(judge("\x80\x02"
                  "e."),
            "");
  EXPECT_NE(judge("\x80\x02(a."), "");
  EXPECT_NE(judge("\x80\x02h\x05."), "");
  EXPECT_NE(judge(string("\x80\x02j") + string(4, '\xff') + "."), "");
}

TEST(Pickle, NestingIsBounded) {
  auto tuples = [](unsigned depth) {
    return "\x80\x02)" + string(depth, '\x85') + ".";
  };
  EXPECT_EQ(judge(tuples(500)), "");
  EXPECT_NE(judge(tuples(600)).find("nests"), string::npos);
  auto lists = [](unsigned depth) {
    return "\x80\x02" + string(depth, ']') + string(depth - 1, 'a') + ".";
  };
  EXPECT_EQ(judge(lists(500)), "");
  EXPECT_NE(judge(lists(600)), "");
}

// Each list is put into the next one by its memo, innermost first: no value on
// the stack is ever deep.
TEST(Pickle, NestingThroughTheMemoIsSeen) {
  auto chain = [](unsigned depth) {
    string pickle = "\x80\x02";
    auto number = [](char opcode, unsigned key) {
      string text(1, opcode);
      for (unsigned byte = 0; byte < 4; ++byte)
        text += char(key >> (8 * byte));
      return text;
    };
    for (unsigned index = 0; index < depth; ++index) {
      pickle += "]" + number('r', index);
      if (index)
        pickle += number('j', index - 1) + "a";
    }
    return pickle + ".";
  };
  EXPECT_EQ(judge(chain(500)), "");
  EXPECT_NE(judge(chain(600)).find("nests"), string::npos);
}

TEST(Pickle, CirclesAreRefused) {
  EXPECT_NE(judge("\x80\x02]q\x01h\x01"
                  "a.")
                .find("holds itself"),
            string::npos);
}

TEST(Source, OtherMethodsAreNotLookedAt) {
  EXPECT_EQ(judgeSource("class A(Module):\n"
                        "  def forward(self: A, x: Tensor) -> Tensor:\n"
                        "    return torch.add(x, x)\n"),
            "");
}

TEST(Source, PackingParametersPasses) {
  EXPECT_EQ(
      judgeSource("class A(Module):\n"
                  "  def __setstate__(self: A, state: Tuple[Tensor, int]) -> "
                  "NoneType:\n"
                  "    _0 = ops.quantized.linear_prepack((state)[0], None)\n"
                  "    self._packed_params = _0\n"
                  "    self.training = annotate(bool, (state)[1])\n"
                  "    return None\n"),
      "found");
}

TEST(Source, PackingByAMethodOfItsOwnPasses) {
  auto source = [](const string &line) {
    return "class A(Module):\n"
           "  def __setstate__(self: A, state: Tuple[Tensor, int]) -> "
           "NoneType:\n"
           "    _0 = (self).set_weight_bias((state)[0], None, )\n"
           "    return None\n"
           "  def set_weight_bias(self: A,\n"
           "    w: Tensor) -> NoneType:\n"
           "    if torch.eq(self.padding_mode, \"zeros\"):\n"
           "      _1 = " +
           line + "\n    return None\n";
  };
  EXPECT_EQ(judgeSource(source("ops.quantized.conv2d_prepack(w, None)")),
            "found");
  EXPECT_NE(judgeSource(source("torch.save(w, 'x')")).find("torch.save"),
            string::npos);
  EXPECT_NE(judgeSource(source("(self).set_weight_bias(w, )")), "found");
  EXPECT_NE(judgeSource("class A(Module):\n"
                        "  def __setstate__(self: A, state: int) -> NoneType:\n"
                        "    _0 = (self).set_weight_bias(state, )\n"),
            "found");
}

// As PyTorch's own packed parameters do for dtypes that they do not know.
TEST(Source, RaisingPasses) {
  EXPECT_EQ(judgeSource(
                "class A(Module):\n"
                "  def __setstate__(self: A, state: Tuple[Tensor, int]) -> "
                "NoneType:\n"
                "    if torch.eq((state)[1], 12):\n"
                "      _0 = ops.quantized.linear_prepack((state)[0], None)\n"
                "    else:\n"
                "      ops.prim.RaiseException(torch.format(\"dtype {}\", 1))\n"
                "    return None\n"),
            "found");
}

TEST(Source, AnythingElseIsRefused) {
  auto body = [](const string &line) {
    return "class A(Module):\n"
           "  def __setstate__(self: A, state: Tensor) -> NoneType:\n"
           "    " +
           line + "\n  def forward(self: A) -> int:\n    return 1\n";
  };
  EXPECT_NE(judgeSource(body("torch.save(state, 'x')")).find("torch.save"),
            string::npos);
  EXPECT_NE(judgeSource(body("ops.image.write_file('x', state)")), "found");
  EXPECT_NE(judgeSource(body("ops.prim.CreateObject(state)")), "found");
  EXPECT_NE(judgeSource(body("while True:\n      pass")), "found");
  EXPECT_NE(judgeSource(body("for i in state:\n      pass")), "found");
  EXPECT_NE(judgeSource(body("self.helper(state)")), "found");
}
