"""Tests of lint keep a cache of their own, and leave the user's as it is."""

import os

import pytest


@pytest.fixture(autouse=True, scope="package")
def cache_of_tests(tmp_path_factory):
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
