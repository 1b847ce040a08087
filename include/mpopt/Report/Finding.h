//===- Finding.h - What a rule has to say
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data, free of IR: reports, ledgers and bindings read it after the
// module is gone. Field by field it is the `findings` entry of the JSON report
// (docs/json.md).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_FINDING_H
#define MPOPT_REPORT_FINDING_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Report/Decision.h"
#include "mpopt/Report/Effect.h"
#include "mpopt/Report/OpRef.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpopt {

/// Sorted so that `<` reads as "less severe than".
enum class Severity { Note, Warning, Error };

/// Sorted so that `<` reads as "less certain than". `Certain`: for every input,
/// or a fact of the file. `Likely`: the estimated range reaches it. `Possible`:
/// only the sound bounds reach it.
enum class Certainty { Possible, Likely, Certain };

/// The standing of a finding in a project. `Counts`: part of the verdict.
/// `Known`: a baseline has it. `Suppressed`: the project's settings accept it,
/// with the reason.
enum class Standing { Counts, Known, Suppressed };

std::string_view toString(Standing standing);
std::string_view toString(Severity severity);
std::string_view toString(Certainty certainty);
std::optional<Severity> parseSeverity(std::string_view text);
std::optional<Certainty> parseCertainty(std::string_view text);
std::optional<Standing> parseStanding(std::string_view text);

/// A line of the model's source, a Python file. Lines count from 1; 0: unknown.
struct SourceLine {
  std::string file;
  unsigned line = 0;
};

/// One step of the explanation of a finding: the constant that starts it, an op
/// that makes values grow.
struct Cause {
  std::string tensor;
  std::string op;
  std::string why;
  std::optional<SourceLine> location = {};
};

/// A change that was tried: the analysis was run again with it. `kind` is a
/// word for tools (`keep-fp32`, `change-constant`, `scale`, `clamp`, `reorder`,
/// `remove-cast`, `explicit-cast`, `change-op`, `change-dtype`; of how a model
/// is trained: `loss-scale`, `optimizer`, `reduction`, `sharding`).
struct Fix {
  std::string kind;
  std::string text;
  /// The analysis no longer has the finding and has no new one that is as
  /// severe.
  bool safe = false;
};

struct Finding {
  std::string rule; ///< Id, `MP103`.
  Severity severity = Severity::Warning;
  Certainty certainty = Certainty::Certain;
  /// It is only possible, and a state that training moves to: it is listed, and
  /// fails no check.
  bool byTraining = false;
  OpRef op;
  std::string tensor;
  std::string dtype;
  std::optional<Interval> bound;
  std::optional<Interval> likely;
  std::string message;
  std::vector<Cause> causes;
  std::vector<Fix> fixes;
  std::optional<SourceLine> location;
  /// Fingerprint of the finding whose consequence this one is; empty on a root.
  std::string root;
  std::string fingerprint;
  /// The tests by which a run decides it; empty if none does.
  std::vector<Watch> watches = {};
  /// The expected effect on the output that it moves most, where it is known.
  std::optional<FindingEffect> effect = {};
  Standing standing = Standing::Counts;
  /// The reason of a suppression; empty otherwise.
  std::string reason = {};
  /// It is only possible, and an input in the file of that name attains it;
  /// empty if none is known.
  std::string witness = {};
  /// It is less certain than what is asked for, and listed for its witness: it
  /// fails no check.
  bool byWitness = false;

  bool counts() const { return standing == Standing::Counts; }
};

} // namespace mpopt

#endif // MPOPT_REPORT_FINDING_H
