"""Log-probabilities that two engines gave to the same tokens: one that samples and one that
trains."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from mpopt.monitor.alerts import Alert

#: Ratios of policies are clipped to 1 +- this (Schulman et al., Proximal policy optimization
#: algorithms, 2017).
CLIP = 0.2
#: Shares of tokens without any update: one in a thousand that is clipped is lost to learning, and
#: where one in a hundred is off by a hundredth, gradients weigh tokens by rounding. FP16 is off by
#: 0.0016 a token and BF16 by 0.0134 (Qi et al., Defeating the training-inference mismatch via
#: FP16, 2025).
_CLIPPED, _OFF, _OFF_BY = 0.001, 0.01, 0.01
#: Growth from which on differences are a bias: between that of noise and that of a bias.
_BIASED = 0.75


@dataclasses.dataclass(frozen=True)
class LogProbabilities:
    """How far two engines are apart on the same tokens.

    per_token    mean of |log p_a - log p_b|
    largest      the largest one
    growth       |sum over a sequence| at its end, by its length to the power of this: 0.5 where
                 differences are independent noise, 1 where they are a bias; NaN with one length
    ratio_spread standard deviation of exp(sum of log p_a - log p_b) over sequences
    clipped      share of tokens whose ratio is outside of 1 +- `clip`
    off          share of tokens whose ratio is off by over a hundredth
    findings     MP512, if these are more than the formats of a sound pair leave; `layer` is `logits`
    """

    tokens: int
    per_token: float
    largest: float
    growth: float
    ratio_spread: float
    clipped: float = 0.0
    off: float = 0.0
    findings: tuple[Alert, ...] = ()


def _of_token(entry, token) -> float:
    """The log-probability of one token: a number; in the form of vLLM, a dictionary from tokens to objects with
    `logprob`; or what the servers of OpenAI's form give, one with `logprob`."""
    if entry is None:
        # vLLM has none for the first token of a prompt.
        return math.nan
    if isinstance(entry, Mapping):
        if "logprob" in entry:
            return float(entry["logprob"])
        if token is None and len(entry) > 1:
            raise ValueError("several tokens have a log-probability at a place: tokens= names the one")
        entry = next(iter(entry.values())) if token is None else entry[token]
    return float(getattr(entry, "logprob", entry))


def _tensor(given, tokens=None):
    """FP64 [sequences, tokens]; NaN where a sequence is shorter, or has none."""
    import torch

    if isinstance(given, torch.Tensor):
        return given.detach().double().cpu()
    if not isinstance(given, Sequence) or isinstance(given, str):
        return torch.as_tensor(given).double()
    rows = [[_of_token(entry, None if tokens is None else int(tokens[row][place]))
             for place, entry in enumerate(sequence)] for row, sequence in enumerate(given)]
    length = max(map(len, rows), default=0)
    return torch.tensor([row + [math.nan] * (length - len(row)) for row in rows],
                        dtype=torch.double).reshape(len(rows), length)


def compare_log_probabilities(a, b, mask=None, *, tokens=None, clip: float = CLIP
                              ) -> LogProbabilities:
    """Compares the log-probabilities that two engines gave to the same tokens.

    a, b    [sequences, tokens]: tensors, arrays, or lists of sequences, which may be of different
            lengths, of numbers, of what vLLM gives for a token (a dictionary from tokens to objects
            with `logprob`), or of dictionaries with `logprob`. NaN and None do not count where both
            have them
    mask    [sequences, tokens], other than 0 for tokens that count, of any dtype; default: all
    tokens  ids of the tokens, where dictionaries have several
    clip    ratios are clipped to 1 +- this"""
    import torch

    a, b = _tensor(a, tokens), _tensor(b, tokens)
    if a.shape != b.shape or a.dim() != 2:
        raise ValueError(f"[sequences, tokens] twice, not {list(a.shape)} and {list(b.shape)}")
    known = ~(a.isnan() & b.isnan())
    mask = known if mask is None else known & (torch.as_tensor(mask).cpu() != 0)
    apart = torch.where(mask, a - b, 0.0)
    # Two that rule a token out agree.
    apart = torch.where((a == b) & mask, 0.0, apart)
    count = int(mask.sum())
    sums = apart.cumsum(1)
    # Root mean square over sequences of the sum of the first n tokens, against n.
    lengths = torch.arange(1, a.shape[1] + 1, dtype=torch.double)
    counts = mask.sum(0)
    grown = torch.where(mask, sums.square(), 0.0).sum(0).div(counts.clamp(min=1)).sqrt()
    used = (counts > 0) & (grown > 0) & grown.isfinite()
    growth = math.nan
    if int(used.sum()) > 1:
        x, y = lengths[used].log(), grown[used].log()
        x = x - x.mean()
        growth = float((x * y).sum() / x.square().sum())
    ratios = sums[:, -1].exp() if a.shape[1] else sums.sum(1)
    # NaN is no ratio near 1.
    moved = (apart.exp() - 1).abs()
    clipped, off = (float((~(moved <= most) & mask).sum()) / max(count, 1)
                    for most in (clip, _OFF_BY))
    found = LogProbabilities(count, float(apart.abs().sum() / max(count, 1)),
                             float(apart.abs().max()) if count else 0.0, growth,
                             float(ratios.std()) if len(ratios) > 1 else math.nan, clipped, off)
    return dataclasses.replace(found, findings=tuple(_judge(found, clip)))


def _judge(found: LogProbabilities, clip: float) -> list[Alert]:
    if found.clipped <= _CLIPPED and found.off <= _OFF:
        return []
    severity = "error" if found.clipped > _CLIPPED else "warning"
    grows = "" if math.isnan(found.growth) else (
        f"; it grows with the length to the power of {found.growth:.2g}, "
        + ("as a bias does: compare weights, temperature and masks first"
           if found.growth > _BIASED else "as noise does"))
    return [Alert("MP512", severity, "logits", 0,
                  f"log-probabilities of the same tokens are {found.per_token:.3g} apart on average "
                  f"and {found.largest:.3g} at most: without any update {found.clipped:.2%} of the "
                  f"ratios are outside of 1 +- {clip:g} and {found.off:.2%} off by over a hundredth"
                  f"{grows}; compute the last product and the log-softmax in FP32 in both engines, "
                  "and the rest in the same format, FP16 rather than BF16")]
