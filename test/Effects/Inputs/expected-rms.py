"""expected-rms.py REPORT LEAST MOST: the first output's expected rms error is between them."""

import json
import sys

path, least, most = sys.argv[1:]
with open(path) as file:
    effect = json.load(file)["effects"][0]
assert float(least) < effect["expected_rms"] < float(most), effect
