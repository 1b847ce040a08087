//===- Plan.h - Which tensors are looked at ---------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_PLAN_H
#define MPOPT_INSTRUMENT_PLAN_H

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
  /// What computes it; without a name for an input of the model.
  OpRef op;
  /// As judged, after the precision was applied.
  std::string dtype;
  /// In the file; empty where the precision made the tensor.
  std::string fileDtype;
  /// Nothing if the rank is not known; -1 for a dim that is not.
  std::optional<std::vector<int64_t>> shape;
  bool isInput = false, isFloat = false, isConstant = false;
  /// The model gives it out.
  bool isOutput = false;
  /// Its op only moves elements: a NaN in it was there before.
  bool isMoved = false;
  /// Its elements are some of its op's operands or of constants, unchanged: an
  /// infinity in it was there before.
  bool copies = false;
  /// It and all it depends on are judged in the dtypes of the file: what a run
  /// of the file computes is what was judged.
  bool asFiled = false;
  /// It depends on what an op computes and stores in 16 or 8 bits; a runtime
  /// that leaves such roundings out computes something else.
  bool afterRounding = false;
  /// The float dtype of the fewest digits among it and all it depends on; empty
  /// if there is none.
  std::string narrowest;

  /// Every finite value, before it is rounded to the dtype.
  Interval bound;
  /// May the stored value be one.
  bool nan = true, posInf = true, negInf = true;
  double minNonZero = 0;
  std::optional<Interval> likely;

  /// The tensors that its op reads, by index, nearest ones that have a name. Of
  /// what a loop carries they are also later ones.
  llvm::SmallVector<unsigned, 4> operands;
  /// Ops between those and its own whose results have no name in the file,
  /// since they are in the body of a function: each may have made a NaN of it.
  std::vector<std::string> unseen;
  std::optional<SourceLine> location;

  bool mayBeNonFinite() const { return nan || posInf || negInf; }
};

/// Why a tensor has a probe.
enum class ProbeRole {
  Input,    ///< of the model: says whether the assumptions held
  Finding,  ///< a finding is about it
  Sentinel, ///< not proved finite: the first of these that is not names the op
  Chosen    ///< `--probe all` or a pattern
};

llvm::StringRef toString(ProbeRole role);
std::optional<ProbeRole> parseProbeRole(llvm::StringRef text);

struct Probe {
  int64_t id = 0;
  ProbeRole role = ProbeRole::Sentinel;
  TensorFacts tensor;
  /// Of the findings it decides.
  std::vector<std::string> fingerprints;
  /// The nearest probes that its op depends on; later ones by way of what a
  /// loop carries.
  std::vector<int64_t> from;
  /// There are more of them than are kept.
  bool fromMore = false;
  /// Those of `from` whose NaN and infinities do not get here, if the
  /// assumptions hold: all that lies between is proved finite or holds
  /// integers.
  std::vector<int64_t> blocked;
  /// Ops on one way to it, the op of this tensor last, and the probe at which
  /// the way begins; -1: at none, or the way is longer.
  std::vector<std::string> via;
  int64_t viaFrom = -1;
  /// An output of the model depends on it with no probe between.
  bool output = false;
  /// The probe keeps a range for each index of this axis; -1: for none.
  int64_t channelAxis = -1;
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

  static llvm::Expected<ProbeSelection> parse(llvm::StringRef text);
};

/// Why no probe can be put on a tensor; empty if one can.
using Placeable = llvm::function_ref<std::string(llvm::StringRef tensor)>;

/// Inputs always have a probe. `tensors` are in program order. Ids count from 0
/// in that order. The error tells that a pattern matches nothing.
llvm::Expected<ProbePlan> makePlan(llvm::ArrayRef<TensorFacts> tensors,
                                   llvm::ArrayRef<Finding> findings,
                                   const ProbeSelection &selection,
                                   Placeable placeable);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_PLAN_H
