// The formats of floats, by the exponents that they hold, and how numbers are written.

// flush: the exponent below which a number rounds to 0 (half the smallest subnormal number).
const FORMATS = {
  f16: { label: "FP16", max: 65504, top: 15, normal: -14, flush: -25 },
  bf16: { label: "BF16", max: 3.3895313892515355e38, top: 127, normal: -126, flush: -134 },
  f8E4M3FN: { label: "E4M3", max: 448, top: 8, normal: -6, flush: -10 },
  f8E5M2: { label: "E5M2", max: 57344, top: 15, normal: -14, flush: -17 },
  f32: { label: "FP32", max: 3.4028234663852886e38, top: 127, normal: -126, flush: -150 },
  f64: { label: "FP64", max: Number.MAX_VALUE, top: 1023, normal: -1022, flush: -1075 },
};
const SPANS = ["f16", "bf16", "f8E4M3FN", "f8E5M2"];

const formatName = (dtype) => FORMATS[dtype] ? FORMATS[dtype].label : dtype || "";

/** A number of the report; infinities are strings there, and null is not known. */
function number(value) {
  if (value === null || value === undefined) return NaN;
  if (value === "inf") return Infinity;
  return value === "-inf" ? -Infinity : Number(value);
}

function digits(value, count = 4) {
  if (Number.isNaN(value)) return "not known";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(count - 2) :
    String(Number(value.toPrecision(count)));
  return text.replace("e+", "e").replace("-", "−").replace("e-", "e−");
}

const interval = (lo, hi) => `[${digits(number(lo))}, ${digits(number(hi))}]`;

function percent(share) {
  if (Number.isNaN(share)) return "not known";
  if (!Number.isFinite(share)) return "Inf or NaN";
  if (share >= 1) return share >= 10 ? "more than all of it" : `${digits(share * 100, 2)} %`;
  if (share === 0) return "0 %";
  if (share < 1e-4) return "< 0.01 %";
  // 99.99 % of something is not all of it.
  return share > 0.995 && share < 1 ? `${Math.floor(share * 1e4) / 100} %` : `${digits(share * 100, 2)} %`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; count >= 1024 && unit < units.length - 1; ++unit) count /= 1024;
  return `${digits(count, 3)} ${units[unit]}`;
}

const plural = (count, noun, nouns) => `${count.toLocaleString("en")} ${count === 1 ? noun : nouns || `${noun}s`}`;

/** Shares, or counts, by exponent, multiplied by a power of two. */
function tally(exponents, dtype, shift) {
  const format = FORMATS[dtype];
  const result = { flushed: 0, subnormal: 0, over: 0, all: 0 };
  if (!exponents || !format) return result;
  for (let index = 1; index < exponents.length; ++index) {
    const exponent = exponents[0] + index - 1 + shift, share = exponents[index];
    result.all += share;
    if (exponent < format.flush) result.flushed += share;
    else if (exponent < format.normal) result.subnormal += share;
    else if (exponent > format.top) result.over += share;
  }
  return result;
}

/** The exponent below which `share` of what is not 0 lies; null if nothing is known. */
function quantile(exponents, share) {
  if (!exponents) return null;
  let all = 0;
  for (let index = 1; index < exponents.length; ++index) all += exponents[index];
  let left = share * all;
  for (let index = 1; index < exponents.length; ++index) {
    left -= exponents[index];
    if (left <= 0 && all > 0) return exponents[0] + index - 1;
  }
  return null;
}
