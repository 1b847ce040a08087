"""Weights by recipe: a distribution for each name, drawn from a seed.

A recipe is a mapping with one of

    value: V                   every element is V
    std: S [mean: M]           normal
    std: S, tail: N [mean: M]  Student's t with N > 2 degrees of freedom, of that deviation:
                               the heavy tails of trained weights
    low: A, high: B            uniform
    median: V, spread: S       V * exp(S * normal): scales and variances that training leaves

and then, if given, `times: F` (a factor for all elements) and `channels: [I, ...]` with
`by: F` (a factor for these indices of the last axis: outlier channels), or `rows` for the
first axis.
"""

from __future__ import annotations

import fnmatch
import zlib
from collections.abc import Mapping

import numpy

Recipe = Mapping[str, object]
KINDS = ({"value"}, {"std", "mean", "tail"}, {"low", "high"}, {"median", "spread"})
CHANGES = {"times", "channels", "rows", "by"}


def find_recipe(name: str, recipes: Mapping[str, Recipe]) -> Recipe:
    """The first recipe whose pattern (as of a shell) matches the name."""
    for pattern, recipe in recipes.items():
        if fnmatch.fnmatchcase(name, pattern):
            return recipe
    raise ValueError(f"no recipe of weights matches {name}")


def _draw(recipe: Recipe, shape: tuple[int, ...], seed: int) -> numpy.ndarray:
    # RandomState, whose streams NumPy has frozen (NEP 19).
    random = numpy.random.RandomState(seed)
    if "value" in recipe:
        return numpy.full(shape, float(recipe["value"]))
    if "low" in recipe:
        return random.uniform(float(recipe["low"]), float(recipe["high"]), shape)
    if "median" in recipe:
        return float(recipe["median"]) * numpy.exp(float(recipe["spread"]) * random.standard_normal(shape))
    drawn = random.standard_normal(shape)
    if "tail" in recipe:
        freedom = float(recipe["tail"])
        drawn = random.standard_t(freedom, shape) * ((freedom - 2) / freedom) ** 0.5
    return drawn * float(recipe["std"]) + float(recipe.get("mean", 0))


def make_weight(name: str, shape: tuple[int, ...], dtype: numpy.dtype, recipes: Mapping[str, Recipe],
                seed: int) -> numpy.ndarray:
    """The weight `name` of a model with this seed; every weight has a stream of its own."""
    recipe = find_recipe(name, recipes)
    keys = set(recipe) - CHANGES
    if not any(keys <= kind for kind in KINDS) or not keys:
        raise ValueError(f"recipe of {name}: {', '.join(sorted(recipe))} describe no distribution")
    values = _draw(recipe, shape, zlib.crc32(f"{seed} {name}".encode()))
    values *= float(recipe.get("times", 1))
    if "channels" in recipe:
        values[..., recipe["channels"]] *= float(recipe["by"])
    if "rows" in recipe:
        values[recipe["rows"]] *= float(recipe["by"])
    return numpy.rint(values).astype(dtype) if numpy.dtype(dtype).kind in "iu" else values.astype(dtype)
