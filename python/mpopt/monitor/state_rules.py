"""MP515: state that stands still while the training goes on."""

from collections.abc import Iterator

from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Step


class StandingState(Judge):
    """Casts of weights that autocast keeps, and buffers that moved before and do not any more."""

    #: Looks at a buffer in which it is the same, after as many in which it moved.
    SAME, MOVED = 3, 2

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"buffers": {}}

    def see_step(self, step: Step) -> Iterator[Alert]:
        if step.kept_cast is not None and self.begins("cast", step.kept_cast):
            yield Alert("MP515", "error", "", step.step,
                        f"step {step.step}: weights change, and the outputs do not: autocast uses casts of "
                        "weights that it made before the last update, since one region lies around several steps; leave the "
                        "region in each step, before backward(), or pass cache_enabled=False")
        buffers = self.memory["buffers"]
        for name, norm in step.buffers.items():
            before, moved, same = buffers.get(name, (None, 0, 0))
            if before is not None and norm == before:
                same += 1
            elif before is not None:
                moved, same = moved + 1, 0
            buffers[name] = [norm, moved, same]
            if self.begins(f"buffer {name}", moved >= self.MOVED and same >= self.SAME, pause=1):
                yield Alert("MP515", "note", name.rpartition(".")[0] or name, step.step,
                            f"step {step.step}: buffer '{name}' moved before and has stood still for {same} looks at it: "
                            "evaluation uses its value of then; look for eval() without train() behind it, or an average "
                            "that is not updated any more (nothing is wrong if that is meant)")
