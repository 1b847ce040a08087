//===- Slot.h - A probe's memory on the device ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a launch add up in Call, in any order: integers and ordered
// keys by atomics, sums in a place of the block's own. The last block to finish
// moves Call into the record and clears it for the next launch, so launches on
// a slot have to be ordered, as those of one stream are: a probe has a slot for
// each stream.
//
// All functions here also run on the host, where a twin of the kernel uses
// them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_SLOT_H
#define MPOPT_KERNELS_CUDA_SLOT_H

#include "../lib/Element.h"
#include "../lib/ExactSum.h"
#include "mpopt/Kernels/Recorder.h"

namespace mpopt::kernels::cuda {

constexpr int kMaxBlocks = 1024;

/// The recorder's, read by every launch so that a captured graph can be
/// switched.
using Control = mpopt_control;

/// Facts about the tensor that the host has when it launches.
struct Shape {
  uint64_t count;
  uint32_t dtype, rank;
  int64_t dims[MPOPT_MAX_DIMS];
  uint32_t channels; // 0: none
  uint32_t flags;    // mpopt_record_flags that the call brings
};

/// Which calls count. A call outside a graph is launched only if it is to be
/// recorded; one in a graph reads the controls on the device.
struct Turn {
  const Control *control; // null: recorded, at `step`
  uint64_t step;
};

/// State on which all blocks of a call have to agree, whatever is written to
/// the controls while they begin: the first one to come leaves it in
/// Call::decision as step << 3 | shared << 2 | turn << 1 | 1. Steps end at 2^61
/// there.
struct Decision {
  uint64_t step;
  bool turn;
  /// For a call in a graph: the step was set by the user. The recorder knows it
  /// of others.
  bool shared;

  MPOPT_HD unsigned long long packed() const {
    return step << 3 | uint64_t(shared) << 2 | uint64_t(turn) << 1 | 1;
  }
  static MPOPT_HD Decision of(unsigned long long packed) {
    return {packed >> 3, (packed & 2) != 0, (packed & 4) != 0};
  }
};

/// Orders doubles as unsigned numbers.
MPOPT_HD uint64_t keyOf(uint64_t bits) {
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
MPOPT_HD uint64_t bitsOfKey(uint64_t key) {
  return key >> 63 ? key & ~(1ull << 63) : ~key;
}

constexpr uint64_t kNoMinimum = 0xFFF0000000000000ull; // the key of +Inf
constexpr uint64_t kNoMaximum = 0x000FFFFFFFFFFFFFull; // the key of -Inf

/// One launch, over all of its blocks.
struct Call {
  unsigned long long nan, posInf, negInf, zero;
  unsigned long long min, max, minNonzero; // keys
  unsigned long long histogram[MPOPT_BINS];
  unsigned long long edge[MPOPT_FORMATS][kEdgeKinds];
  double sums[kMaxBlocks], squares[kMaxBlocks];
  unsigned long long decision; // 0: none yet
  unsigned ticket;
};

struct Slot {
  /// Counted up before the record changes, and `ended` set to it afterwards. A
  /// copy is whole if `ended`, read before it, is `begun`, read after it.
  unsigned long long begun, ended;
  mpopt_record record;
  unsigned long long direct; // calls in it that were launched outside a graph
  /// The step after the last one, which calls in a graph take if nobody sets
  /// steps; `next` is that of the probe's first slot.
  unsigned long long ownNext, *next;
  Call call;
};

/// The part of a slot that the host reads.
struct Snapshot {
  uint64_t whole, direct;
  mpopt_record record;
};

MPOPT_HD void clearScalars(Call &call) {
  call.nan = call.posInf = call.negInf = call.zero = 0;
  call.min = call.minNonzero = kNoMinimum;
  call.max = kNoMaximum;
  for (auto &format : call.edge)
    for (auto &kind : format)
      kind = 0;
}

MPOPT_HD Decision decide(const Control &now, uint64_t next) {
  bool shared = now.step != MPOPT_NEVER;
  uint64_t step = shared ? now.step : next;
  return {step, now.enabled && step % now.period == 0, shared};
}

MPOPT_HD double doubleOf(uint64_t bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

MPOPT_HD uint64_t bitsOf(double value) {
#ifdef __CUDA_ARCH__
  return static_cast<uint64_t>(__double_as_longlong(value));
#else
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

MPOPT_HD float floatOf(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

MPOPT_HD void takeFirst(uint64_t &step, uint64_t now) {
  if (now < step)
    step = now;
}

/// The two thresholds that a record's steps refer to, as patterns of FP64: from
/// where a magnitude is not finite, and up to where it is zero. As in
/// mpopt_format_edges, which is the host's.
MPOPT_HD uint64_t notFiniteFrom(int format) {
  return format == MPOPT_TO_F16    ? 0x40EFFE0000000000ull
         : format == MPOPT_TO_BF16 ? 0x47EFF00000000000ull
         : format == MPOPT_TO_E4M3 ? 0x407D000000000001ull
         : format == MPOPT_TO_E5M2 ? 0x40EE000000000000ull
                                   : 0x47EFFFFFF0000000ull;
}
MPOPT_HD uint64_t zeroAt(int format) {
  return format == MPOPT_TO_F16    ? 0x3E60000000000000ull
         : format == MPOPT_TO_BF16 ? 0x3790000000000000ull
         : format == MPOPT_TO_E4M3 ? 0x3F50000000000000ull
         : format == MPOPT_TO_E5M2 ? 0x3EE0000000000000ull
                                   : 0x3690000000000000ull;
}

MPOPT_HD void mergeShape(mpopt_record &record, const Shape &shape) {
  bool first = record.calls == 0;
  if (!first && record.dtype != shape.dtype)
    record.flags |= MPOPT_MIXED_DTYPE;
  record.dtype = first ? shape.dtype : narrowerDtype(record.dtype, shape.dtype);
  if (!first && record.rank != shape.rank)
    record.flags |= MPOPT_MIXED_RANK;
  bool anew = first || shape.rank < record.rank;
  if (!anew && shape.rank > record.rank)
    return;
  record.rank = shape.rank;
  for (int i = 0; i < MPOPT_MAX_DIMS; ++i) {
    int64_t dim = shape.dims[i];
    if (anew || dim < record.dim_min[i])
      record.dim_min[i] = dim;
    if (anew || dim > record.dim_max[i])
      record.dim_max[i] = dim;
  }
}

/// As mpopt_record_merge: calls that differ in their channels leave none.
MPOPT_HD void mergeChannels(mpopt_record &record, const Shape &shape) {
  record.flags |= shape.flags;
  if (!(record.flags & MPOPT_CHANNELS_DROPPED) && !record.calls)
    record.channels = shape.channels;
  if (record.channels != shape.channels)
    record.flags |= MPOPT_CHANNELS_DROPPED;
  if (record.flags & MPOPT_CHANNELS_DROPPED)
    record.channels = 0;
}

MPOPT_HD void mergeExtremes(mpopt_record &record, const Call &call,
                            uint64_t step) {
  if (call.min == kNoMinimum)
    return;
  // Adding +0 turns -0 into +0.
  double low = doubleOf(bitsOfKey(call.min)) + 0.0;
  double high = doubleOf(bitsOfKey(call.max)) + 0.0;
  double most = -low > high ? -low : high;
  if (low < record.min)
    record.min = low;
  if (high > record.max)
    record.max = high;
  // The first call with finite values has absmax_step MPOPT_NEVER before it.
  if (most > record.absmax || record.absmax_step == MPOPT_NEVER) {
    record.absmax = most;
    record.absmax_step = step;
  } else if (most == record.absmax) {
    takeFirst(record.absmax_step, step);
  }
  for (int format = 0; format < MPOPT_FORMATS; ++format)
    if (bitsOf(most) >= notFiniteFrom(format))
      takeFirst(record.first_overflow_step[format], step);
  if (call.minNonzero == kNoMinimum)
    return;
  double nonzero = doubleOf(bitsOfKey(call.minNonzero));
  if (nonzero < record.min_nonzero) {
    record.min_nonzero = nonzero;
    record.min_nonzero_step = step;
  } else if (nonzero == record.min_nonzero) {
    takeFirst(record.min_nonzero_step, step);
  }
  for (int format = 0; format < MPOPT_FORMATS; ++format)
    if (bitsOf(nonzero) <= zeroAt(format))
      takeFirst(record.first_flush_step[format], step);
}

/// All of a finished call but its histogram; `sum` and `squares` are the
/// blocks' sums added up. One thread does this.
MPOPT_HD void finishCall(Slot &slot, const Shape &shape,
                         const Decision &decision, bool direct, double sum,
                         double squares) {
  mpopt_record &record = slot.record;
  uint64_t step = decision.step;
  if (!direct)
    record.flags |= decision.shared ? MPOPT_STEPS_SHARED : MPOPT_STEPS_COUNTED;
  slot.direct += direct;
  Call &call = slot.call;
  mergeChannels(record, shape);
  mergeShape(record, shape);
  mergeExtremes(record, call, step);
  ++record.calls;
  record.count += shape.count;
  record.nan += call.nan;
  record.pos_inf += call.posInf;
  record.neg_inf += call.negInf;
  record.zero += call.zero;
  takeFirst(record.first_step, step);
  if (record.last_step == MPOPT_NEVER || step > record.last_step)
    record.last_step = step;
  if (call.nan)
    takeFirst(record.first_nan_step, step);
  if (call.posInf || call.negInf)
    takeFirst(record.first_inf_step, step);
  for (int format = 0; format < MPOPT_FORMATS; ++format) {
    record.edge[format].beyond_max += call.edge[format][BeyondMax];
    record.edge[format].not_finite += call.edge[format][NotFinite];
    record.edge[format].rounds_to_zero += call.edge[format][RoundsToZero];
  }
  exactSumAdd(record.sum, bitsOf(sum));
  exactSumAdd(record.sum_squares, bitsOf(squares));
  clearScalars(call);
}

/// One bin of a finished call.
MPOPT_HD void finishBin(Slot &slot, int bin) {
  slot.record.histogram[bin] += slot.call.histogram[bin];
  slot.call.histogram[bin] = 0;
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_SLOT_H
