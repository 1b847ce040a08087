//===- Courses.cpp - The courses of two trainings ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A monitored training has a history beside its record. The Python package
// reads histories and judges them (mpopt.monitor.judge_run), and here is asked:
// the verdict of the command line is that of Python.
//
//===----------------------------------------------------------------------===//

#include "Sides.h"
#include "lib/Driver/PythonCommand.h"

#include "llvm/Support/FileSystem.h"

using namespace mpopt;
using namespace mpopt::diffing;
using llvm::StringRef;

static std::string getHistory(StringRef record) {
  record.consume_back(".mprec");
  return record.str() + ".history.jsonl";
}

/// The record whose numbers are the run's: that of the first rank.
static const std::string &getFirst(const DiffSide &side) {
  return side.records.front();
}

static DiffVerdict parseVerdict(llvm::Expected<std::string> answer) {
  if (!answer)
    return {{}, llvm::toString(answer.takeError())};
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(*answer);
  if (parsed && parsed->getAsObject())
    return {std::move(*parsed->getAsObject()), ""};
  if (!parsed)
    llvm::consumeError(parsed.takeError());
  return {{}, "the Python package gave no verdict"};
}

void diffing::judgeCourses(const Options &options, DiffReport &diff) {
  std::vector<std::string> lacking;
  for (const DiffSide *side : {&diff.a, &diff.b})
    if (!llvm::sys::fs::exists(getHistory(getFirst(*side))))
      lacking.push_back(getHistory(getFirst(*side)));
  // Records of an instrumented model that was not trained have none.
  if (lacking.size() == 2)
    return;
  if (!lacking.empty()) {
    diff.verdict = DiffVerdict{{}, "there is no '" + lacking.front() + "'"};
    return;
  }
  std::vector<std::string> words = {getFirst(diff.a), getFirst(diff.b),
                                    "--format", "json"};
  if (!options.noise.empty())
    words.insert(words.end(), {"--noise", options.noise});
  diff.verdict = parseVerdict(askPython("mpopt.monitor.__main__", words));
}
