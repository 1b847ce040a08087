//===- TextStyle.h - Colour and line breaks of text reports
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_TEXTSTYLE_H
#define MPOPT_REPORT_TEXTSTYLE_H

#include "mpopt/Report/Report.h"

namespace mpopt {

/// `1 node`, `2 nodes`.
std::string plural(uint64_t count, llvm::StringRef noun);

/// Three digits and a unit of 1024: `16.0 MiB`.
std::string describeBytes(double bytes);

class TextStyle {
public:
  TextStyle(llvm::raw_ostream &os, const WriteOptions &options)
      : os(os), options(options) {}

  /// Write text from a model or a file, with unprintable characters escaped.
  void plain(llvm::StringRef text);
  void bold(llvm::StringRef text) { paint("1", text); }
  void dim(llvm::StringRef text) { paint("2", text); }
  void severity(Severity severity, llvm::StringRef text);

  /// Words of `text` from the column that was reached, broken before the width,
  /// later lines indented by `indent`; ends the line. `column` is where it
  /// starts, if that is not `indent`.
  void wrap(llvm::StringRef text, unsigned indent) {
    wrap(text, indent, indent);
  }
  void wrap(llvm::StringRef text, unsigned indent, unsigned column);

private:
  void paint(llvm::StringRef code, llvm::StringRef text);

  llvm::raw_ostream &os;
  WriteOptions options;
};

} // namespace mpopt

#endif // MPOPT_REPORT_TEXTSTYLE_H
