//===- ReportTest.cpp - Folding and rendering of findings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Report/Report.h"
#include "mpopt/Report/Fold.h"
#include "mpopt/Report/OutputFormat.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mpopt;
using testing::HasSubstr;
using testing::Not;

static Finding makeFinding(std::string op, Severity severity,
                           Certainty certainty = Certainty::Certain) {
  static int count = 0;
  Finding finding;
  finding.rule = "MP103";
  finding.severity = severity;
  finding.certainty = certainty;
  finding.op = {std::move(op), "Add", ""};
  finding.dtype = "f32";
  finding.message = "mixes f16 and f32 operands";
  finding.fixes = {{"explicit-cast", "cast it", true}};
  finding.fingerprint = "print" + std::to_string(count++);
  return finding;
}

static std::string getText(ModelReport report, WriteOptions options = {}) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeText(os, report, options);
  return text;
}

TEST(Fold, RepeatedLayersAreOne) {
  std::vector<Finding> findings;
  for (int layer = 0; layer < 32; ++layer)
    findings.push_back(makeFinding("/layers." + std::to_string(layer) + "/Add",
                                   Severity::Warning));
  std::vector<FindingGroup> groups = groupFindings(findings);
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].folded.size(), 1u);
  EXPECT_TRUE(groups[0].folded[0].layers);
  EXPECT_EQ(groups[0].size(), 32u);
}

TEST(Fold, NumberedNodesAreNoLayers) {
  std::vector<Finding> findings = {makeFinding("Add_3", Severity::Warning),
                                   makeFinding("Add_17", Severity::Warning)};
  std::vector<FindingGroup> groups = groupFindings(findings);
  ASSERT_EQ(groups[0].folded.size(), 1u);
  EXPECT_FALSE(groups[0].folded[0].layers);
}

TEST(Fold, TwoNumbersThatVaryAreNoLayers) {
  std::vector<Finding> findings = {
      makeFinding("/layers.0/Add_1", Severity::Warning),
      makeFinding("/layers.1/Add_2", Severity::Warning)};
  EXPECT_FALSE(groupFindings(findings)[0].folded[0].layers);
}

TEST(Fold, OtherOpsStayApart) {
  std::vector<Finding> findings = {makeFinding("/a/Add", Severity::Warning),
                                   makeFinding("/b/Add", Severity::Warning),
                                   makeFinding("/b/Add", Severity::Warning)};
  findings[2].dtype = "f64";
  EXPECT_EQ(groupFindings(findings)[0].folded.size(), 3u);
}

TEST(Fold, WorstAndSurestFirst) {
  std::vector<Finding> findings = {
      makeFinding("a", Severity::Note),
      makeFinding("b", Severity::Error, Certainty::Likely),
      makeFinding("c", Severity::Error)};
  std::vector<FindingGroup> groups = groupFindings(findings);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].folded[0].first().op.name, "c");
  EXPECT_EQ(groups[1].folded[0].first().op.name, "b");
  EXPECT_EQ(groups[2].folded[0].first().op.name, "a");
}

TEST(Fold, ConsequencesAreCountedAtTheirRoot) {
  std::vector<Finding> findings = {makeFinding("a", Severity::Error),
                                   makeFinding("b", Severity::Error),
                                   makeFinding("c", Severity::Error)};
  findings[1].root = findings[0].fingerprint;
  findings[2].root = "a root that is not listed";
  std::vector<FindingGroup> groups = groupFindings(findings);
  ASSERT_EQ(groups[0].folded.size(), 2u);
  EXPECT_EQ(groups[0].folded[0].consequences, 1u);
  EXPECT_EQ(groups[0].folded[1].first().op.name, "c");
}

TEST(Fold, ConsequencesWorseThanTheirRootAreShown) {
  std::vector<Finding> findings = {makeFinding("a", Severity::Note),
                                   makeFinding("b", Severity::Error)};
  findings[1].root = findings[0].fingerprint;
  std::vector<FindingGroup> groups = groupFindings(findings);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].folded[0].first().op.name, "b");
  EXPECT_EQ(groups[1].folded[0].consequences, 0u);
}

TEST(Text, ShowsFoldsFixesAndCounts) {
  ModelReport report;
  report.path = "model.onnx";
  report.certain = 40;
  report.possible = 2;
  for (int layer = 0; layer < 40; ++layer)
    report.findings.push_back(makeFinding(
        "/layers." + std::to_string(layer) + "/Add", Severity::Warning));
  std::string text = getText(report);
  EXPECT_THAT(text, HasSubstr("warning[MP103]: silent-upcast"));
  EXPECT_THAT(text, HasSubstr("--> /layers.0/Add (Add, f32)  x 40 layers"));
  EXPECT_THAT(text, HasSubstr("also /layers.1/Add, /layers.2/Add, "
                              "/layers.3/Add and 36 more"));
  EXPECT_THAT(text, HasSubstr("= safe fix: cast it"));
  EXPECT_THAT(text, HasSubstr("40 warnings (40 certain, 0 likely, 2 possible; "
                              "2 not listed)"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

static std::string listAlphabet(Severity severity) {
  ModelReport report;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    report.findings.push_back(makeFinding(std::string(1, letter), severity));
  return getText(report);
}

TEST(Text, CapsLongLists) {
  std::string text = listAlphabet(Severity::Warning);
  EXPECT_THAT(text, HasSubstr("--> h (Add"));
  EXPECT_THAT(text, Not(HasSubstr("--> i (Add")));
  EXPECT_THAT(text, HasSubstr("and 18 more (--format json lists all)"));
}

TEST(Text, FoldsNotesIntoALine) {
  std::string text = listAlphabet(Severity::Note);
  EXPECT_THAT(text, HasSubstr("--> x 26: a, b, c and 23 more\n"));
}

TEST(Text, SaysWhatIsCommonOnce) {
  ModelReport report;
  report.findings = {makeFinding("/a/Add", Severity::Warning),
                     makeFinding("/b/Add", Severity::Warning)};
  std::string text = getText(report);
  EXPECT_EQ(llvm::StringRef(text).count("mixes f16 and f32 operands"), 1u);
  report.findings[1].message = "mixes bf16 and f32 operands";
  text = getText(report);
  EXPECT_EQ(llvm::StringRef(text).count("and f32 operands"), 2u);
}

TEST(Text, StaysWithinTheWidth) {
  ModelReport report;
  report.findings.push_back(makeFinding("a", Severity::Note));
  for (int word = 0; word < 60; ++word)
    report.findings[0].message += " word";
  std::string text = getText(report, {/*color=*/false, /*width=*/80});
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  for (llvm::StringRef line : lines)
    EXPECT_LE(line.size(), 80u) << line.str();
}

TEST(Text, ColoursOnDemand) {
  ModelReport report;
  report.findings.push_back(makeFinding("a", Severity::Error));
  EXPECT_THAT(getText(report, {/*color=*/true}), HasSubstr("\033[1;31merror"));
}

TEST(Json, InfinitiesAndBrokenNames) {
  ModelReport report;
  report.path = "\xff.onnx";
  report.findings.push_back(makeFinding("a", Severity::Error));
  report.findings[0].bound = Interval{-HUGE_VAL, 1};
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(os, report, {.version = "1.0"});
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  const llvm::json::Object &root = *parsed->getAsObject();
  EXPECT_EQ(root.getString("schema"), "mpopt-report/1");
  EXPECT_EQ(root.getObject("summary")->getInteger("error"), 1);
  const llvm::json::Object &finding =
      *root.getArray("findings")->front().getAsObject();
  EXPECT_EQ(finding.getString("name"), "silent-upcast");
  EXPECT_EQ(finding.getObject("bound")->getString("lo"), "-inf");
  EXPECT_EQ(finding.getObject("bound")->getNumber("hi"), 1);
  EXPECT_EQ(finding.get("root"), nullptr);
}

TEST(Sarif, NamesPagesThatArePublished) {
  ModelReport report;
  report.findings.push_back(makeFinding("a", Severity::Error));
  auto write = [&](llvm::StringRef pages) {
    std::string text;
    llvm::raw_string_ostream os(text);
    findOutputFormat("sarif")->writeReports(os, report, {.pages = pages});
    return text;
  };
  std::string text = write("https://a.example/mpopt");
  EXPECT_THAT(text,
              HasSubstr("\"informationUri\": \"https://a.example/mpopt\""));
  EXPECT_THAT(
      text,
      HasSubstr("\"helpUri\": \"https://a.example/mpopt/rules/MP103.html\""));
  EXPECT_THAT(write(""), Not(HasSubstr("Uri")));
}

TEST(Rules, TableIsSortedAndFound) {
  EXPECT_TRUE(llvm::is_sorted(
      getRules(), [](const auto &a, const auto &b) { return a.id < b.id; }));
  const RuleInfo *rule = findRule("mp103");
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule, findRule("silent-upcast"));
  EXPECT_EQ(findRule("MP1"), nullptr);
  EXPECT_EQ(findRule("Silent-Upcast"), nullptr);
}
