//===- PolicyReader.h - A policy from JSON ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_POLICY_POLICYREADER_H
#define MPOPT_LIB_POLICY_POLICYREADER_H

#include "mpopt/Policy/Policy.h"

#include "llvm/Support/JSON.h"

namespace mpopt {

/// Fills a policy from a table and names the key that is wrong in it.
class PolicyReader {
public:
  PolicyReader(llvm::StringRef origin) : origin(origin) {}

  llvm::Expected<Policy> read(llvm::StringRef text);

private:
  llvm::Error readTop(const llvm::json::Object &table);
  llvm::Error readKey(llvm::StringRef key, const llvm::json::Value &value);
  llvm::Error readString(llvm::StringRef key, const llvm::json::Value &value,
                         std::string &into);
  llvm::Error readNumber(llvm::StringRef key, const llvm::json::Value &value,
                         std::optional<double> &into);
  llvm::Error readNotes(const llvm::json::Value &value);
  llvm::Error readCategories(llvm::StringRef key,
                             const llvm::json::Value &value);
  llvm::Error readFixedOperands(const llvm::json::Value &value);
  std::optional<Category> parseCategory(llvm::StringRef text) const;
  llvm::Error error(const llvm::Twine &message) const;

  llvm::StringRef origin;
  Policy policy;
};

} // namespace mpopt

#endif // MPOPT_LIB_POLICY_POLICYREADER_H
