"""share-of.py REPORT TENSOR LEAST MOST: its part of the first output's expected rms error is between them."""

import json
import sys

path, tensor, least, most = sys.argv[1:]
with open(path) as file:
    effect = json.load(file)["effects"][0]
shares = {cause["tensor"]: cause["share"] for cause in effect["tensors"]}
part = effect["expected_rms"] * shares[tensor] ** 0.5
assert float(least) < part < float(most), (part, effect)
