//===- JsonTextTest.cpp - Where values are in the text of JSON ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/JsonText.h"

#include "gtest/gtest.h"

using namespace mpopt;
using llvm::StringRef;

namespace {
struct Document {
  explicit Document(StringRef text) : text(text), json(text) {}

  StringRef at(size_t begin) const {
    return text.slice(begin, json.end(begin));
  }
  /// The text of the member of the whole; `-` if there is none.
  StringRef get(StringRef key) const {
    auto found = json.find(json.root(), key);
    return found ? at(*found) : "-";
  }
  /// The texts of the elements of that member, each behind a bar.
  std::string list(StringRef key) const {
    std::string all;
    for (size_t element : json.elements(*json.find(json.root(), key)))
      all += "|" + at(element).str();
    return all;
  }

  StringRef text;
  JsonText json;
};
} // namespace

TEST(JsonText, FindsMembers) {
  Document document(R"( {"a" : 1, "b":"x}\"]," , "c":{"a":[2]},"d":-1.5e+3,
                         "e" :true} )");
  EXPECT_EQ(document.get("a"), "1");
  EXPECT_EQ(document.get("b"), R"("x}\"],")");
  EXPECT_EQ(document.get("c"), R"({"a":[2]})");
  EXPECT_EQ(document.get("d"), "-1.5e+3");
  EXPECT_EQ(document.get("e"), "true");
  EXPECT_EQ(document.get("x}"), "-");
}

TEST(JsonText, TheLastOfSeveralCounts) {
  EXPECT_EQ(Document(R"({"a":1,"a":[2]})").get("a"), "[2]");
}

TEST(JsonText, ListsElements) {
  Document document(
      R"({"none":[ ], "some": [ 1 ,{"x":[2,3]}, "a,]\\" ,[],null]})");
  EXPECT_EQ(document.list("none"), "");
  EXPECT_EQ(document.list("some"), R"(|1|{"x":[2,3]}|"a,]\\"|[]|null)");
}

TEST(JsonText, OtherKindsHaveNothingInside) {
  Document document(R"(["a", {"b":1}])");
  EXPECT_EQ(document.get("a"), "-");
  EXPECT_TRUE(document.json.elements(document.text.find('{')).empty());
}

// It is for text that was parsed; nothing is read outside of any other.
TEST(JsonText, StaysInsideOfTextThatIsCutOff) {
  StringRef whole = R"({"a":[1,{"b":"\"c"}],"d":2})";
  for (size_t size = 0; size < whole.size(); ++size) {
    Document document(whole.take_front(size));
    EXPECT_LE(document.json.end(document.json.root()), size);
    (void)document.get("d");
    if (auto found = document.json.find(document.json.root(), "a"))
      for (size_t element : document.json.elements(*found))
        EXPECT_LE(document.json.end(element), size);
  }
}
