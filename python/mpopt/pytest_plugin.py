"""The fixture `mpopt_check` of pytest, there wherever mpopt is installed."""

import pytest


@pytest.fixture
def mpopt_check():
    """Judges a model as `mpopt.check` does, and fails the test where a finding is of the severity
    `fail_on` (`warning`), with the report as its text; gives the report. With a `loss` or an
    `optimizer` a step of the training is judged (`mpopt.check_training`)."""
    import mpopt

    def check(model, batch=None, *, fail_on: str = "warning", **options):
        __tracebackhide__ = True
        judge = mpopt.check_training if {"loss", "optimizer", "scaler", "config"} & options.keys() else mpopt.check
        report = judge(model, batch, **options)
        try:
            report.raise_if(fail_on)
        except mpopt.FindingsError:
            pytest.fail(str(report), pytrace=False)
        return report

    return check
