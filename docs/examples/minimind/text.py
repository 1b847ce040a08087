"""The text that is learned: the documentation strings of Python's own library, in 6,400 tokens.

Every Python has them, so nothing is fetched. `load(folder)` makes text and tokens once and keeps
them in `folder`."""

import ast
import collections
import heapq
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import torch

#: Where the tokens are kept, seen from the checkout's root.
FOLDER = Path("build/minimind/data")
PAD, BEGIN, END = range(3)
BYTES = 3  # The token of the byte 0; merged pairs follow after the 256 bytes.
VOCABULARY = 6400
LENGTH = 64
IGNORE = -100
#: Characters of text: enough for some hundred steps.
CHARACTERS = 1_200_000
_WORDS = re.compile(r" ?\w+| ?[^\w\s]+|\s+")


def documents() -> Iterator[str]:
    """Documentation strings of at least two lines, in the order of the files' names."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found = ast.get_docstring(node)
                if found and found.count("\n") > 1:
                    yield found


def learn_pairs(counts: collections.Counter[str], number: int) -> list[tuple[int, int]]:
    """The `number` pairs of tokens to merge, the most frequent first: byte pair encoding."""
    words = [([BYTES + byte for byte in word.encode()], count) for word, count in counts.items()]
    total: collections.Counter = collections.Counter()
    where = collections.defaultdict(set)
    for index, (tokens, count) in enumerate(words):
        for pair in zip(tokens, tokens[1:]):
            total[pair] += count
            where[pair].add(index)
    heap = [(-count, pair) for pair, count in total.items()]
    heapq.heapify(heap)
    pairs = []
    while heap and len(pairs) < number:
        count, pair = heapq.heappop(heap)
        if total[pair] != -count:
            # The heap keeps what a pair counted before, too.
            if total[pair]:
                heapq.heappush(heap, (-total[pair], pair))
            continue
        new = BYTES + 256 + len(pairs)
        pairs.append(pair)
        changed = set()
        for index in where.pop(pair):
            tokens, weight = words[index]
            merged = merge(tokens, pair, new)
            for old in zip(tokens, tokens[1:]):
                total[old] -= weight
                changed.add(old)
            for made in zip(merged, merged[1:]):
                total[made] += weight
                where[made].add(index)
                changed.add(made)
            words[index] = merged, weight
        for each in changed - {pair}:
            if total[each] > 0:
                heapq.heappush(heap, (-total[each], each))
        total[pair] = 0
    return pairs


def merge(tokens: list[int], pair: tuple[int, int], new: int) -> list[int]:
    merged, index = [], 0
    while index < len(tokens):
        if index + 1 < len(tokens) and (tokens[index], tokens[index + 1]) == pair:
            merged.append(new)
            index += 2
        else:
            merged.append(tokens[index])
            index += 1
    return merged


class Tokenizer:
    def __init__(self, pairs: list[tuple[int, int]]):
        self.pairs = pairs
        self._ranks = {tuple(pair): rank for rank, pair in enumerate(pairs)}
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        return [token for word in _WORDS.findall(text) for token in self._word(word)]

    def _word(self, word: str) -> list[int]:
        if word not in self._known:
            tokens = [BYTES + byte for byte in word.encode()]
            while len(tokens) > 1:
                rank, pair = min((self._ranks.get(pair, len(self.pairs)), pair)
                                 for pair in zip(tokens, tokens[1:]))
                if rank == len(self.pairs):
                    break
                tokens = merge(tokens, pair, BYTES + 256 + rank)
            self._known[word] = tokens
        return self._known[word]

    def decode(self, tokens) -> str:
        return b"".join(self._bytes(int(token)) for token in tokens).decode(errors="replace")

    def _bytes(self, token: int) -> bytes:
        if token < BYTES:
            return b""
        if token < BYTES + 256:
            return bytes([token - BYTES])
        return b"".join(map(self._bytes, self.pairs[token - BYTES - 256]))


def windows(encoded: list[list[int]]) -> torch.Tensor:
    """Rows of LENGTH + 1 tokens. What a document leaves over ends a row, with padding in front,
    as a model that goes on writing gets its texts."""
    rows = []
    for tokens in encoded:
        tokens = [BEGIN, *tokens, END]
        for begin in range(0, len(tokens) - 1, LENGTH):
            piece = tokens[begin:begin + LENGTH + 1]
            if len(piece) > LENGTH // 4:
                rows.append([PAD] * (LENGTH + 1 - len(piece)) + piece)
    return torch.tensor(rows, dtype=torch.int16)


def load(folder: Path) -> torch.Tensor:
    """The rows, shuffled; kept in `folder`."""
    file = folder / "text.pt"
    if not file.exists():
        text, size = [], 0
        for document in documents():
            text.append(document)
            size += len(document)
            if size >= CHARACTERS:
                break
        if size < CHARACTERS // 4:
            raise SystemExit(f"text.py: the library of {sys.executable} has hardly any "
                             "documentation strings to learn from")
        counts = collections.Counter(word for each in text for word in _WORDS.findall(each))
        tokenizer = Tokenizer(learn_pairs(counts, VOCABULARY - BYTES - 256))
        rows = windows([tokenizer.encode(each) for each in text])
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
        folder.mkdir(parents=True, exist_ok=True)
        torch.save({"rows": rows[order], "pairs": tokenizer.pairs}, file)
    return torch.load(file)["rows"]


def batches(folder: Path, steps: int, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Tokens and labels [size, LENGTH] of `steps` steps."""
    rows = load(folder).long()
    for step in range(steps):
        picked = rows[[(step * size + each) % len(rows) for each in range(size)]]
        tokens, labels = picked[:, :-1], picked[:, 1:]
        # Padding, and a token after it, is no target.
        yield tokens, labels.masked_fill(tokens == PAD, IGNORE)


def masked_batches(folder: Path, passes: int, size: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """Tokens, labels and a mask, 1 where a label counts, of `passes` micro-batches of `size` rows."""
    for tokens, labels in batches(folder, passes, size):
        loss_mask = (labels != IGNORE).float()
        yield tokens, labels.clamp(min=0), loss_mask
