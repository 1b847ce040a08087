"""status.py STATUS COMMAND...: fails unless COMMAND exits with STATUS, and with
one line on stderr that says `mpopt: error:` if that is 2."""

import subprocess
import sys

wanted = int(sys.argv[1])
done = subprocess.run(sys.argv[2:], capture_output=True, text=True)
errors = done.stderr.splitlines()
if done.returncode != wanted:
    sys.exit(f"status {done.returncode}, not {wanted}\n{done.stdout}{done.stderr}")
if wanted == 2 and (len(errors) != 1 or not errors[0].startswith("mpopt: error: ")):
    sys.exit(f"not one error line:\n{done.stderr}")
if wanted != 2 and errors:
    sys.exit(f"unexpected output on stderr:\n{done.stderr}")
