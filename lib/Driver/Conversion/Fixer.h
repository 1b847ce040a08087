//===- Fixer.h - A model with the fixes that trials proved ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_CONVERSION_FIXER_H
#define MPOPT_LIB_DRIVER_CONVERSION_FIXER_H

#include "PendingModel.h"
#include "Verify.h"

#include "mpopt/Driver/CheckModel.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <set>

namespace mpopt {

/// Changes a model in rounds: the fixes of one kind that are proved, then the
/// analysis of the result, until none is left.
class Fixer {
public:
  /// `options` say what is judged, and whether fixes that are not safe are
  /// taken; `path` has `bytes`. The result is for the file `output`.
  Fixer(Options options, llvm::StringRef bytes, llvm::StringRef path,
        std::string output)
      : options(std::move(options)), bytes(bytes), path(path),
        output(std::move(output)) {}

  /// An error without a text was printed.
  llvm::Error run();
  /// The result, which is written if something was changed.
  PendingModel &model() { return *pending; }

  /// False if nothing was changed, and nothing is pending.
  bool isChanged() const { return !changes.empty(); }
  /// Prints the changes, and the findings that each mends.
  void print(llvm::raw_ostream &os) const;
  /// The findings, and the fixes that were made for them.
  std::vector<std::string> listReasons() const;
  const ModelReport &result() const { return *last; }
  /// What runs of the model may be fed.
  AssumedInputs inputs() const { return {last->assumptions, shapes}; }
  const std::vector<std::string> &warnings() const { return notes; }

private:
  llvm::Error open();
  llvm::Expected<bool> runRounds();
  bool isWorse(const std::optional<ModelReport> &before) const;
  bool runRound(mlir::ModuleOp module, llvm::ArrayRef<TriedFix> fixes);
  bool mayTake(const TriedFix &fix) const;
  llvm::Error checkResult();
  llvm::Expected<ModelDiff> make(mlir::ModuleOp module,
                                 llvm::ArrayRef<const TriedFix *> fixes,
                                 bool writes);
  /// A fix, and what it changes alone.
  struct Chosen {
    const TriedFix *fix;
    std::string diff;
  };
  std::vector<Chosen> choose(mlir::ModuleOp module,
                             llvm::ArrayRef<TriedFix> fixes);

  const Options options;
  llvm::StringRef bytes, path;
  std::string output;
  std::optional<OnnxConverter> converter;
  std::optional<PendingModel> pending;
  std::optional<ModelReport> last;
  std::string faultBefore, staleBefore;
  std::vector<ShapedInput> shapes;
  std::vector<std::string> notes;
  /// Fixes that were made, and those that are not.
  std::set<std::string> done, refused;
  std::vector<std::string> ofRound; ///< keys of fixes
  llvm::MapVector<std::string, std::vector<std::string>,
                  std::map<std::string, unsigned>>
      changes; ///< reasons by what is changed
};

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_CONVERSION_FIXER_H
