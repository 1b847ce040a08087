//===- JsonReader.h - Reading what mpopt wrote ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strict: a key that has to be there and is not, or is of another kind, is an
// error that names its path (`probes[3].id`). Keys that are not known are
// skipped, since the schemas may grow.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_JSONREADER_H
#define MPOPT_REPORT_JSONREADER_H

#include "mpopt/Report/Keep.h"
#include "mpopt/Report/Report.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mpopt {

/// Reads one object's keys. The first error is kept, and later reads do
/// nothing, so that callers check once.
class JsonReader {
public:
  JsonReader(const llvm::json::Object &object, std::string path,
             std::string &error)
      : object(&object), path(std::move(path)), error(error) {}

  /// Absent keys leave `value` as it is; `need` makes that an error.
  void text(llvm::StringRef key, std::string &value, bool need = false);
  void flag(llvm::StringRef key, bool &value);
  void integer(llvm::StringRef key, int64_t &value, int64_t least,
               int64_t greatest, bool need = false);
  /// Reads a number as jsonNumber writes it.
  void number(llvm::StringRef key, double &value, bool need = false);
  void interval(llvm::StringRef key, std::optional<Interval> &value);
  void texts(llvm::StringRef key, std::vector<std::string> &list);
  void integers(llvm::StringRef key, std::vector<int64_t> &list, int64_t least,
                int64_t greatest);
  void child(llvm::StringRef key, llvm::function_ref<void(JsonReader)> read,
             bool need = false);
  void children(llvm::StringRef key, llvm::function_ref<void(JsonReader)> read,
                bool need = false);
  void counts(llvm::StringRef key, std::map<std::string, unsigned> &counts);
  /// True if the key is there and not null.
  bool has(llvm::StringRef key) const;

  /// Reports an error. `what` continues the path: `is not a shape`.
  void fail(llvm::StringRef key, const llvm::Twine &what);
  bool failed() const { return !error.empty(); }

private:
  const llvm::json::Value *find(llvm::StringRef key, bool need);
  const llvm::json::Array *findArray(llvm::StringRef key, bool need);
  const llvm::json::Object *findObject(llvm::StringRef key, bool need);

  const llvm::json::Object *object;
  std::string path;
  std::string &error;
};

void readOp(JsonReader json, OpRef &op);
void readAssumption(JsonReader json, Assumption &assumption);
/// Reads an `mpopt-report/1` object.
void readReport(JsonReader json, ModelReport &report);

} // namespace mpopt

#endif // MPOPT_REPORT_JSONREADER_H
