"""Error messages of commands in Python: one line each, whatever a name or an argument holds."""

import argparse
import sys

from mpopt._command import Error

#: Characters of an error line: as much of an argument as tells which it is, and the reason behind it.
LONGEST = 1000


def printable(text: str) -> str:
    """Text with characters escaped that a terminal would act on."""
    return "".join(char if char.isprintable() or char == " " else char.encode("unicode_escape", "surrogatepass").decode()
                   if ord(char) < 0xd800 or ord(char) > 0xdfff else f"\\x{ord(char) & 0xff:02x}" for char in text)


def shorten(text: str) -> str:
    """The text without its middle, if it is long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} [{len(text) - 2 * half} characters] {text[-half:]}"


def print_error(program: str, text: object, kind: str = "error") -> None:
    line = shorten(printable(str(text).strip() or "there is not enough memory"))
    print(f"{program}: {kind}: {line}", file=sys.stderr)


class Parser(argparse.ArgumentParser):
    """One whose errors are `mpopt.Error`s."""

    def error(self, message: str):
        raise Error(message)
