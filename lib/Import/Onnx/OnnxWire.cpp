//===- OnnxWire.cpp - Large tensors taken out of a model's bytes
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two walks over the same bytes: the first measures how long every message on
// the way to a payload becomes, the second writes. Field numbers are those of
// onnx.proto. Groups do not occur in ONNX and are refused.
//
//===----------------------------------------------------------------------===//

#include "OnnxWire.h"

#include "mpopt/Support/OnnxMessages.h"
#include "mpopt/Support/ProtoWire.h"

using namespace mpopt;
using namespace mpopt::onnx_import;

namespace {

/// Results of the first walk over a message.
struct Measure {
  uint64_t length;           ///< after the cut
  size_t next;               ///< the measure after those of this subtree
  bool changed = false;      ///< something in it was cut
  std::optional<size_t> cut; ///< of a tensor: which cut
  uint64_t cutField = 0;     ///< where the field that goes begins
};

/// A serialised `external_data` field that refers to a cut.
std::string makeReference(size_t cut) {
  std::string number = std::to_string(cut), entry;
  entry += char(1 << 3 | 2);
  appendVarint(entry, kCutKey.size());
  entry += kCutKey;
  entry += char(2 << 3 | 2);
  appendVarint(entry, number.size());
  entry += number;
  std::string field(1, char(13 << 3 | 2));
  appendVarint(field, entry.size());
  return field + entry;
}

class Walker {
public:
  Walker(llvm::StringRef model, uint64_t threshold, ErrorSink &sink)
      : model(model), threshold(threshold), sink(sink) {}

  bool measure(uint64_t begin, uint64_t end, OnnxMessage kind, unsigned depth);
  void write(uint64_t begin, uint64_t end, OnnxMessage kind, std::string &out);

  std::vector<CutBytes> cuts;
  std::vector<Measure> measures;

private:
  bool readField(uint64_t position, uint64_t end, WireField &field);
  bool measureTensor(uint64_t begin, uint64_t end, size_t self);

  llvm::StringRef model;
  uint64_t threshold;
  ErrorSink &sink;
  size_t cursor = 0; ///< of the second walk, in `measures`
};

} // namespace

bool Walker::readField(uint64_t position, uint64_t end, WireField &field) {
  llvm::Expected<WireField> read = readWireField(model, position, end);
  if (read) {
    field = *read;
    return true;
  }
  sink.error(ImportCode::Malformed, "",
             "not a valid ONNX file: " + llvm::toString(read.takeError()));
  return false;
}

bool Walker::measureTensor(uint64_t begin, uint64_t end, size_t self) {
  // Packed fields may be split over several occurrences, whose bytes do not lie
  // together: then nothing is cut.
  std::optional<WireField> payload;
  unsigned payloads = 0;
  bool external = false;
  for (uint64_t position = begin; position < end;) {
    WireField field;
    if (!readField(position, end, field))
      return false;
    if (field.number == 4 || field.number == 9 || field.number == 10) {
      ++payloads;
      if (field.wire == 2)
        payload = field;
    }
    if (field.number == 14 && field.wire == 0)
      external = field.varint != 0;
    position = field.end;
  }
  if (payloads != 1 || !payload || external ||
      payload->end - payload->payload < threshold)
    return true;
  Measure &measure = measures[self];
  measure.changed = true;
  measure.cut = cuts.size();
  measure.cutField = payload->begin;
  measure.length -= payload->end - payload->begin;
  measure.length += makeReference(cuts.size()).size();
  cuts.push_back({payload->payload, payload->end - payload->payload,
                  unsigned(payload->number)});
  return true;
}

bool Walker::measure(uint64_t begin, uint64_t end, OnnxMessage kind,
                     unsigned depth) {
  if (depth > kMaxGraphDepth) {
    sink.error(ImportCode::TooDeep, "",
               "graphs are nested more than " + llvm::Twine(kMaxGraphDepth) +
                   " deep");
    return false;
  }
  size_t self = measures.size();
  measures.push_back({end - begin, 0});
  if (kind == OnnxMessage::Tensor) {
    if (!measureTensor(begin, end, self))
      return false;
  } else {
    for (uint64_t position = begin; position < end;) {
      WireField field;
      if (!readField(position, end, field))
        return false;
      OnnxMessage child = getOnnxChild(kind, field.number);
      position = field.end;
      if (child == OnnxMessage::Other || field.wire != 2)
        continue;
      size_t index = measures.size();
      if (!measure(field.payload, field.end, child,
                   depth + (child == OnnxMessage::Graph)))
        return false;
      if (!measures[index].changed)
        continue;
      // The length as it was written, which need not be the shortest way.
      uint64_t before = field.end - field.tagEnd;
      uint64_t after = measures[index].length;
      measures[self].changed = true;
      measures[self].length -= before;
      measures[self].length += after + varintSize(after);
    }
  }
  measures[self].next = measures.size();
  return true;
}

void Walker::write(uint64_t begin, uint64_t end, OnnxMessage kind,
                   std::string &out) {
  const Measure measure = measures[cursor++];
  if (!measure.changed) {
    out += model.slice(begin, end);
    cursor = measure.next;
    return;
  }
  for (uint64_t position = begin; position < end;) {
    WireField field;
    readField(position, end, field);
    position = field.end;
    if (measure.cut && field.begin == measure.cutField) {
      out += makeReference(*measure.cut);
      continue;
    }
    OnnxMessage child = getOnnxChild(kind, field.number);
    if (child == OnnxMessage::Other || field.wire != 2) {
      out += model.slice(field.begin, field.end);
      continue;
    }
    out += model.slice(field.begin, field.tagEnd);
    appendVarint(out, measures[cursor].length);
    write(field.payload, field.end, child, out);
  }
}

std::optional<SlimModel> onnx_import::cutLargeTensors(llvm::StringRef model,
                                                      uint64_t threshold,
                                                      ErrorSink &sink) {
  Walker walker(model, threshold, sink);
  if (!walker.measure(0, model.size(), OnnxMessage::Model, 0))
    return std::nullopt;
  SlimModel result;
  result.bytes.reserve(walker.measures.front().length);
  walker.write(0, model.size(), OnnxMessage::Model, result.bytes);
  result.cuts = std::move(walker.cuts);
  return result;
}
