"""refused.py COMMAND...: prints the one line that COMMAND leaves on stderr as it
exits with status 2; fails if it does anything else."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
if done.returncode != 2 or done.stdout or len(done.stderr.splitlines()) != 1:
    sys.exit(f"status {done.returncode}\n{done.stdout}{done.stderr}")
print(done.stderr, end="")
