"""Packages that are functions, too: `mpopt.lint("train.py")`, `mpopt.view("run.mprec")`."""

import functools
import sys
import types
from collections.abc import Callable


def make(name: str, function: Callable) -> None:
    """Calls of the package `name` are calls of `function`."""

    class CallablePackage(types.ModuleType):
        @functools.wraps(function)
        def __call__(self, *arguments, **keywords):
            return function(*arguments, **keywords)

    sys.modules[name].__class__ = CallablePackage
