//===- ModelFile.cpp - Binary and text ONNX to ModelProto
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ModelFile.h"

#include "mpopt/Import/Nesting.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "onnx/defs/parser.h"

#include <climits>

using namespace mpopt;
using namespace mpopt::onnx_import;
using llvm::StringRef;

// Smaller payloads are copied with the rest of the message.
static constexpr uint64_t kCutThreshold = 4096;

// A graph inside a graph is three messages deeper (graph, node, attribute);
// types may nest a little on top.
static constexpr int kRecursionLimit = 3 * int(kMaxGraphDepth) + 64;

static bool parseBinary(StringRef bytes, ModelFile &file, ErrorSink &sink) {
  // Weights of a stream have no file to stay in.
  uint64_t threshold = file.path.empty() ? UINT64_MAX : kCutThreshold;
  std::optional<SlimModel> slim = cutLargeTensors(bytes, threshold, sink);
  if (!slim)
    return false;
  if (slim->bytes.size() > INT_MAX) {
    sink.error(ImportCode::Malformed, "",
               "more than 2 GiB of graph, which protobuf cannot hold");
    return false;
  }
  file.cuts = std::move(slim->cuts);
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::ArrayInputStream stream(slim->bytes.data(),
                                                int(slim->bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  coded.SetRecursionLimit(kRecursionLimit);
  if (file.model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage())
    return true;
  sink.error(ImportCode::Malformed, "",
             "not a valid ONNX file: a message has fields of the wrong kind or "
             "nests too deep");
  return false;
}

namespace {
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = "line " + std::to_string(line + 1) + ", column " +
             std::to_string(column + 1) + ": " + message;
  }
  std::string text;
};
} // namespace

static bool parseTextProto(StringRef bytes, ModelFile &file, ErrorSink &sink) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kRecursionLimit);
  google::protobuf::io::ArrayInputStream stream(bytes.data(),
                                                int(bytes.size()));
  if (parser.Parse(&stream, &file.model))
    return true;
  sink.error(ImportCode::Malformed, "",
             "not a valid ONNX text protobuf: " + errors.text);
  return false;
}

/// Comment lines become empty, so that line numbers stay: the syntax has no
/// comments of its own.
static std::string withoutComments(StringRef text) {
  std::string result;
  result.reserve(text.size() + 1);
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (!line.ltrim().starts_with("//"))
      result += line;
    result += '\n';
    text = rest;
  }
  return result;
}

static bool parseOnnxText(StringRef bytes, ModelFile &file, ErrorSink &sink) {
  // The library's parser recurses without a limit.
  if (exceedsNesting(bytes, 4 * kMaxGraphDepth)) {
    sink.error(ImportCode::TooDeep, "",
               "brackets are nested more than " +
                   llvm::Twine(4 * kMaxGraphDepth) + " deep");
    return false;
  }
  std::string text = withoutComments(bytes), reason;
  try {
    onnx::OnnxParser parser(text);
    auto status = parser.Parse(file.model);
    if (status.IsOK() && parser.EndOfInput())
      return true;
    reason =
        status.IsOK() ? "there is more after the model" : status.ErrorMessage();
  } catch (const std::exception &error) {
    reason = error.what();
  }
  sink.error(ImportCode::Malformed, "",
             "not valid ONNX text syntax: " + llvm::Twine(reason));
  return false;
}

bool onnx_import::parseModel(StringRef bytes, StringRef path,
                             ModelFormat format, ModelFile &file,
                             ErrorSink &sink) {
  file.bytes = bytes;
  file.path = path.str();
  if (format == ModelFormat::Onnx)
    return parseBinary(bytes, file, sink);
  if (bytes.size() > INT_MAX / 2) {
    sink.error(ImportCode::Malformed, "", "text of more than 1 GiB");
    return false;
  }
  return format == ModelFormat::OnnxText ? parseOnnxText(bytes, file, sink)
                                         : parseTextProto(bytes, file, sink);
}
