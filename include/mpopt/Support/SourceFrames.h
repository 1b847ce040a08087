//===- SourceFrames.h - The frame of a call stack to look at ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Standard library only: the reader that links LibTorch sees no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_SOURCEFRAMES_H
#define MPOPT_SUPPORT_SOURCEFRAMES_H

#include <string_view>

namespace mpopt {

/// True for a file of a package or of Python itself, which is no part of a
/// project, even where it lies below it.
inline bool isInstalledFile(std::string_view file) {
  for (std::string_view part : {"site-packages", "dist-packages", "/lib/python",
                                "\\Lib\\", "__torch__"})
    if (file.find(part) != std::string_view::npos)
      return true;
  return false;
}

/// True for code of PyTorch itself, and for code that it wrote and ran.
inline bool isTorchFile(std::string_view file) {
  for (std::string_view part : {"/torch/", "\\torch\\", "__torch__"})
    if (file.find(part) != std::string_view::npos)
      return true;
  return file.empty() || file.starts_with("torch/") || file.starts_with("<");
}

/// True for code that runs a model to record it: what is outside of it called
/// the exporter, and no op.
inline bool isExporterFile(std::string_view file) {
  for (std::string_view part :
       {"torch/jit/_trace.py", "torch/onnx/", "torch/export/"})
    if (file.find(part) != std::string_view::npos)
      return true;
  return false;
}

/// The frame that a user can change, of a stack that has one and begins at the
/// innermost call: the first one in the project, else the first one outside of
/// PyTorch, else the innermost.
template <typename Frames> const auto &pickUserFrame(const Frames &frames) {
  for (const auto &frame : frames) {
    if (isExporterFile(frame.file))
      break;
    if (!isTorchFile(frame.file) && !isInstalledFile(frame.file))
      return frame;
  }
  for (const auto &frame : frames)
    if (!isTorchFile(frame.file))
      return frame;
  return frames.front();
}

} // namespace mpopt

#endif // MPOPT_SUPPORT_SOURCEFRAMES_H
