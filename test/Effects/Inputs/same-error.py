"""same-error.py REPORT...: the expected errors of the first outputs are the same."""

import json
import sys

errors = []
for path in sys.argv[1:]:
    with open(path) as file:
        errors.append(json.load(file)["effects"][0]["expected_error"])
assert all(0 < error < 1 for error in errors), errors
assert max(errors) < 1.05 * min(errors), errors
