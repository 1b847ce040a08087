"""The layers of scripts/check-structure as a picture (docs/layers.svg)."""

from __future__ import annotations

import itertools

BOX, HEIGHT, STEP, ROW, MARGIN = 104, 36, 160, 76, 16
Layers = dict[str, set[str]]


def find_arrows(layers: Layers) -> list[tuple[str, str]]:
    """The layers that each layer sees, without those that one of them sees as well."""
    def below(name: str) -> set[str]:
        seen = layers[name] - {name}
        return seen.union(*(below(other) for other in seen))

    return [(name, other) for name in layers for other in layers
            if other in below(name) and not any(other in below(between) for between in below(name))]


def find_rows(layers: Layers, arrows: list[tuple[str, str]]) -> list[list[str]]:
    """From the top: what one layer alone sees is next to it, all else as low as it can be."""
    up: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in up:
            up[name] = 1 + max((height(other) for user, other in arrows if user == name), default=-1)
        return up[name]

    top = max(height(name) for name in layers)
    row = {name: top - height(name) for name in layers}
    for user in sorted(layers, key=row.get):
        seen = [other for above, other in arrows if above == user]
        for other in seen:
            if row[user] < 2 and sum(target == other for _, target in arrows) == 1:
                row[other] = row[user] + 1
    return [[name for name in layers if row[name] == number] for number in range(top + 1)]


def place(rows: list[list[str]], width: float) -> dict[str, tuple[float, int]]:
    """Centre and row of each layer; a row takes the width, one or two layers its middle."""
    centre = {}
    for number, row in enumerate(rows):
        gaps = max(len(row) - 1, 1) if len(row) > 2 else len(row) + 1
        for index, name in enumerate(row):
            centre[name] = (BOX / 2 + (width - BOX) * (index + (len(row) < 3)) / gaps, number)
    return centre


def cost(centre: dict[str, tuple[float, int]], arrows: list[tuple[str, str]]) -> float:
    """How far arrows lean, and how many go through boxes."""
    total = 0.0
    for user, other in arrows:
        (x, row), (x2, row2) = centre[user], centre[other]
        total += abs(x - x2)
        for between, level in centre.values():
            if row < level < row2:
                away = abs(x + (x2 - x) * (level - row) / (row2 - row) - between)
                total += 100 * max(BOX / 2 + 12 - away, 0)
    return total


def draw(layers: Layers) -> str:
    arrows = find_arrows(layers)
    rows = find_rows(layers, arrows)
    inner = max(len(row) for row in rows) * STEP
    orders = itertools.product(*(itertools.permutations(row) for row in rows))
    centre = min((place(order, inner) for order in orders), key=lambda centre: cost(centre, arrows))
    width, height = inner + 2 * MARGIN, (len(rows) - 1) * ROW + HEIGHT + 2 * MARGIN
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="15">',
             "<!-- Made from scripts/check-structure by scripts/generate-docs. -->",
             '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
             'orient="auto"><path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>']
    for user, other in arrows:
        (x, row), (x2, row2) = centre[user], centre[other]
        # Ends are spread, so that arrows into one box can be told from another.
        shift = max(-BOX / 3, min(BOX / 3, (x - x2) / 6))
        lines.append(f'<path d="M{MARGIN + x - shift:g} {MARGIN + row * ROW + HEIGHT:g} '
                     f'L{MARGIN + x2 + shift:g} {MARGIN + row2 * ROW:g}" stroke="#667" fill="none" '
                     'marker-end="url(#tip)"/>')
    for name, (x, row) in centre.items():
        lines.append(f'<rect x="{MARGIN + x - BOX / 2:g}" y="{MARGIN + row * ROW:g}" width="{BOX}" '
                     f'height="{HEIGHT}" rx="5" fill="#e8eaf6" stroke="#3f51b5"/>')
        lines.append(f'<text x="{MARGIN + x:g}" y="{MARGIN + row * ROW + HEIGHT / 2 + 5:g}" '
                     f'text-anchor="middle" fill="#1a237e">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
