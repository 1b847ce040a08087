//===- FindingText.h - A finding in words -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of which the forms for machines of a team (SARIF, annotations,
// JUnit, Markdown) make their texts. Each is one line without control
// characters, and not overlong: a model may call a node anything.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPORT_FINDINGTEXT_H
#define MPOPT_LIB_REPORT_FINDINGTEXT_H

#include "mpopt/Report/Fold.h"
#include "mpopt/Report/Report.h"

namespace mpopt {

/// `text` as printable characters; of a longer one the beginning and the end,
/// with `...` between, `most` bytes at most.
std::string clip(llvm::StringRef text, size_t most = 200);

/// `MP201 overflow (likely)`; of what is certain without the certainty.
std::string describeRule(const Finding &finding);

/// Where a review shows what is found: the line of source, if that is a file
/// below the working directory, else the first line of the model.
SourceLine getReviewedLine(const ModelReport &report,
                           const std::optional<SourceLine> &line);

/// `/layers.0/Add (Add, f16) in body`.
std::string describePlace(const Finding &finding);

/// `x: likely [-1, 1], at most [-2, 2]`; empty if no range is known.
std::string describeRanges(const Finding &finding);

/// `3.1 %`, two digits.
std::string getPercent(double share);

/// The effect of the findings of `fold` alone on the output that they move
/// most: `changes `y` by 3.1 %` or, for several, `each changes `y` by 3.1 % at
/// most`; empty if that is not known.
std::string describeOwnEffect(const FoldedFinding &fold);

/// `3 other findings follow from it: MP201 x 2, MP206`; empty without any.
std::string describeFollowers(const std::map<std::string, unsigned> &followers);

/// The safe fixes, each a sentence without its full stop.
std::vector<std::string> listSafeFixes(const Finding &finding);

/// The reason for which the finding does not count; empty if it does.
std::string describeStanding(const Finding &finding);

/// `2 errors, 1 note`, or `no findings`.
std::string describeCounts(SeverityCounts counts);

/// The number of findings that are shown by themselves and count.
SeverityCounts countShown(llvm::ArrayRef<Finding> findings);

} // namespace mpopt

#endif // MPOPT_LIB_REPORT_FINDINGTEXT_H
