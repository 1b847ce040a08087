//===- Plan.h - The tensors that get probes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_PLAN_H
#define MPOPT_INSTRUMENT_PLAN_H

#include "mpopt/Numerics/CodeShares.h"
#include "mpopt/Report/Finding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// A tensor of the model and what the analysis says about it: plain data, free
/// of IR.
struct TensorFacts {
  std::string name;
  /// The op that computes the tensor; an input of the model has one without a
  /// name.
  OpRef op;
  /// Equal for tensors at the same place of models of equal structure, whatever
  /// their names are (Fingerprint.h); of a cast it begins with `cast-`. Empty
  /// where nothing is known of the model.
  std::string structure;
  /// Dtype as judged, after the precision was applied.
  std::string dtype;
  /// Dtype in the file; empty for a tensor that applying the precision created.
  std::string fileDtype;
  /// Absent if the rank is unknown; -1 for an unknown dim.
  std::optional<std::vector<int64_t>> shape;
  bool isInput = false, isFloat = false, isConstant = false;
  /// The tensor is an output of the model.
  bool isOutput = false;
  /// The op only moves elements, so it makes no NaN.
  bool isMoved = false;
  /// Every element is one of the op's operands or of a constant, unchanged, so
  /// the op makes no infinity.
  bool copies = false;
  /// The op passes on what a layer learned (`Role::Layer`): all zeros there are
  /// no mask, padding or index.
  bool isLayer = false;
  /// The tensor is a constant that the model learns. A run takes it as it is
  /// (`usedAsIs`), or cast to `castTo` by autocast or by a cast of the file
  /// before its op; both where it has several uses.
  bool isParameter = false, usedAsIs = false;
  std::string castTo;
  /// The tensor and all that it depends on were judged in the dtypes of the
  /// file, so that a run of the file computes the judged values.
  bool asFiled = false;
  /// The tensor depends on a result that is stored in 16 or 8 bits; a runtime
  /// that omits such roundings computes other values.
  bool afterRounding = false;
  /// The float dtype with the fewest digits among this tensor and all that it
  /// depends on; empty if there is none.
  std::string narrowest;

  /// Bound of the finite values before they are rounded to the dtype.
  Interval bound;
  /// The stored value may be NaN, +Inf, -Inf.
  bool nan = true, posInf = true, negInf = true;
  double minNonZero = 0;
  std::optional<Interval> likely;
  /// The expected shares of the codes that an op makes of numbers.
  std::optional<CodeShares> codes;

  /// Indices of the nearest tensors with a name that the op depends on. For
  /// values that a loop carries, some come later in program order.
  llvm::SmallVector<unsigned, 4> operands;
  /// Ops between those tensors and this one whose results have no name in the
  /// file (they are in the body of a function): any of them may make a NaN.
  std::vector<std::string> unseen;
  std::optional<SourceLine> location;

  bool mayBeNonFinite() const { return nan || posInf || negInf; }
};

/// The reason for a probe.
enum class ProbeRole {
  Input,     ///< of the model: says whether the assumptions held
  Finding,   ///< a finding is about it
  Sentinel,  ///< not proved finite: the first of these that is not names the op
  Chosen,    ///< `--probe all`, a pattern, a layer that is trained, or codes
  Parameter, ///< its gradient alone, where it enters an op
  Scalar     ///< a number that the program reports (`Recorder.scalar`): the
             ///< factor of its loss (keys::kLossScale)
};

llvm::StringRef toString(ProbeRole role);
std::optional<ProbeRole> parseProbeRole(llvm::StringRef text);

struct Probe {
  int64_t id = 0;
  ProbeRole role = ProbeRole::Sentinel;
  TensorFacts tensor;
  /// Fingerprints of the findings that the probe decides.
  std::vector<std::string> fingerprints;
  /// Ids of the nearest probes on which the op depends; for values that a loop
  /// carries, some are later ones.
  std::vector<int64_t> from;
  /// `from` was cut off at its size limit.
  bool fromMore = false;
  /// Probes of `from` whose NaN and infinities cannot reach this one under the
  /// assumptions: everything between is proved finite or holds integers.
  std::vector<int64_t> blocked;
  /// Ops on one path to the tensor, its own op last, and the probe at which the
  /// path begins; -1 if at none, or if the path is longer.
  std::vector<std::string> via;
  int64_t viaFrom = -1;
  /// An output of the model depends on the tensor with no probe between.
  bool output = false;
  /// The probe keeps a range for each index of this axis; -1: for none.
  int64_t channelAxis = -1;
  /// The gradient is recorded in every run, whatever MPOPT_PROBE_GRADIENTS
  /// says.
  bool gradient = false;
  /// For a parameter, the gradient of its cast, not of its source.
  bool cast = false;
  /// The tensor is the loss that was judged, so that its gradient is the loss
  /// scale with which the backward pass began.
  bool isLoss = false;

  /// False of parameters and scalars.
  bool recordsValues() const {
    return role != ProbeRole::Parameter && role != ProbeRole::Scalar;
  }
};

/// A tensor that has findings and no probe.
struct Unprobed {
  std::string tensor;
  std::string why;
};

struct ProbePlan {
  std::vector<Probe> probes;
  std::vector<Unprobed> unprobed;
};

/// `findings`, `all`, or a pattern on names of tensors and ops.
struct ProbeSelection {
  enum class Kind { Findings, All, Pattern } kind = Kind::Findings;
  std::string pattern;
  /// Gradients, too: of what has a probe and of what layers give, and of
  /// parameters.
  bool train = false;
  /// The tensor that is the loss; empty if it is not the model's.
  std::string loss;

  static llvm::Expected<ProbeSelection> parse(llvm::StringRef text);
};

/// The reason why a tensor can have no probe; empty if it can.
using Placeable = llvm::function_ref<std::string(llvm::StringRef tensor)>;

/// Inputs always have a probe. `tensors` are in program order. Ids count from 0
/// in that order. The error tells that a pattern matches nothing.
llvm::Expected<ProbePlan> makePlan(llvm::ArrayRef<TensorFacts> tensors,
                                   llvm::ArrayRef<Finding> findings,
                                   const ProbeSelection &selection,
                                   Placeable placeable);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_PLAN_H
