"""Fixtures of all tests, and their markers."""

import marking
import pytest
import soundness_rounds
import tool  # noqa: F401: names the build for the package mpopt


# First: -m and -k choose afterwards.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    slow = marking.read_slow()
    for item in items:
        name = getattr(item, "originalname", item.name)
        if marking.is_torch_test(item.path, name, getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.torch)
        # `-k cbrt` selects the rounds that try mp.cbrt, among the others of its family.
        if name == "test_bounds_hold":
            item.extra_keyword_matches.update(soundness_rounds.names_of(item.callspec.params["cases"]))
        if f"{item.path.relative_to(marking.TESTS).as_posix()}::{name}" in slow:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def rounds(request):
    """The rounds of test_soundness.py by their parameters, as far as selected tests
    ask for them. They take long, so they begin with the first test, whichever it is,
    on the cores that the others leave free."""
    params = soundness_rounds.wanted(request.session.items)
    if not params:
        yield {}
        return
    pool, futures = soundness_rounds.start(params)
    yield futures
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def archives(request, tmp_path_factory):
    """Every network of PyTorch with probes on all tensors, as a test asks for it."""
    import torch_probes

    made = torch_probes.Archives(tmp_path_factory.mktemp("archives"), request.session.items)
    yield made
    made.pool.shutdown(cancel_futures=True)
