"""The content of a sample: distributions of outputs, gradients, parameters and
optimizer state, each list of tensors by one op."""

from collections.abc import Iterator, Sequence

import torch

from mpopt._command import PathLike
from mpopt.monitor import record
from mpopt.monitor.hooks import plain
from mpopt.monitor.judging import Sample
from mpopt.monitor.naming import Names
from mpopt.monitor.ranks import own_rank

#: The state that optimizers keep for each parameter, by the class's name, before they have it.
STATE_WORDS = {
    **dict.fromkeys(("adam", "adamw", "nadam", "radam", "lamb", "fusedadam"),
                    ("exp_avg", "exp_avg_sq")),
    "adamax": ("exp_avg", "exp_inf"), "sgd": ("momentum_buffer",), "lion": ("exp_avg",),
    "rmsprop": ("square_avg", "momentum_buffer", "grad_avg"), "adagrad": ("sum",),
    "adadelta": ("square_avg", "acc_delta"), "adafactor": ("row_var", "col_var", "variance")}


class Observer:
    """Records under the ids of the run's ledger, -1 where the ledger has none.

    pattern  path of the record, with `%r` for the rank; None: nothing is recorded
    given    a ledger that exists (`--instrument --train`), or None to write one"""

    def __init__(self, names: Names, optimizers: Sequence, pattern: PathLike | None,
                 given: PathLike | None):
        self._names, self._optimizers = names, optimizers
        self.pattern, self._given = pattern, given
        self._ledger = record.Ledger.read(given) if given is not None else None
        self._token = torch.zeros(1)
        #: By which ops find the record; empty before there is one.
        self.hex = ""
        #: None until the first sample, so that the optimizer has what it keeps by then.
        self.record: record.RunRecord | None = None
        #: By index of module.
        self.value_ids: list[int] = []
        self._parameter_ids: list[int] = []
        #: By a parameter's id() and a word of its state.
        self._state_ids: dict[int, dict[str, int]] = {}
        #: Gradients of outputs were recorded since somebody asked.
        self._flowed = False
        #: By place of an optimizer: what it keeps, and of each parameter in that, in order, how
        #: many words there are and those that the ledger has, with their probes.
        self._state_plans: dict[int, tuple] = {}
        self._are_plain = all(type(parameter) in (torch.Tensor, torch.nn.Parameter) and
                              parameter.layout is torch.strided for parameter in names.parameters)

    def open(self, resumed: int = 0) -> None:
        if self.record:
            return
        names, ledger = self._names, self._ledger
        if ledger is None:
            ledger = record.Ledger()
            for name, module in zip(names.module_names, names.modules, strict=True):
                ledger.add("chosen", name, layer=any(True for _ in module.parameters(recurse=False)))
            for name, parameter in zip(names.parameter_names, names.parameters, strict=True):
                ledger.add("parameter", name, record.dtype_name(parameter.dtype))
            own = dict(zip(map(id, names.parameters), names.parameter_names, strict=True))
            for state in (self._state(), self._expected_state()):
                states = {f"{own[parameter]}:{word}": value.dtype
                          for parameter, word, value in state if parameter in own}
                for name, dtype in states.items():
                    ledger.add("parameter", name, record.dtype_name(dtype))
                if states:
                    break
            for name in record.SCALARS:
                ledger.add("scalar", name)
        assert self.pattern is not None  # else nothing asks for a record
        self.record = record.RunRecord(self.pattern, own_rank(), ledger, self._given, resumed)
        self.hex, ids = self.record.hex, ledger.ids
        self.value_ids = [ids.get(("chosen", name), -1) for name in names.module_names]
        self._parameter_ids = [ids.get(("parameter", name), -1) for name in names.parameter_names]
        words: dict[str, dict[str, int]] = {}
        for (role, name), probe in ids.items():
            if role == "parameter" and ":" in name:
                parameter, _, word = name.rpartition(":")
                words.setdefault(parameter, {})[word] = probe
        self._state_ids = {id(parameter): words.get(name, {}) for name, parameter in
                           zip(names.parameter_names, names.parameters, strict=True)}
        self._state_plans = {}

    def close(self) -> None:
        if self.record:
            self.record.close()

    def leave(self) -> None:
        """Closes the record; the next one is of the steps from here on."""
        self.close()
        self.record = None

    # -- Lists of tensors ----------------------------------------------------------------

    def gradients(self, indices: Sequence[int], gradients: Sequence[torch.Tensor],
                  autocast: torch.dtype | None, norms: torch.Tensor | None) -> None:
        """Records gradients by index of their parameter; puts their norms into `norms`, FP32
        on the device that all of them are on, if it is given."""
        ids = [self._parameter_ids[index] for index in indices]
        with self.record.enabled():
            if norms is not None and self._ledger is None:
                torch.ops.mpopt.observe_gradients(gradients, norms, ids, self.record.hex)
                return
            if norms is not None:
                torch.ops.mpopt.norms(gradients, norms)
            computed = [self._as_computed(probe, gradient, autocast)
                        for probe, gradient in zip(ids, gradients, strict=True)]
            torch.ops.mpopt.observe(computed, self._token, ids, record.GRADIENT, self.record.hex)

    def _as_computed(self, probe: int, gradient: torch.Tensor, autocast: torch.dtype | None
                     ) -> torch.Tensor:
        """In the dtype of the parameter's cast, where the ledger judges the gradient of that
        and autocast made it. Widening was exact, and what was lost is a zero of that dtype."""
        if self._ledger is None or autocast is not torch.float16 or probe < 0:
            return gradient
        judged = self._ledger.probes[probe]
        return gradient.half() if judged.get("cast") and judged["dtype"] == "f16" else gradient

    def parameters(self) -> None:
        parameters = self._names.parameters
        self._observe(record.PARAMETER, self._parameter_ids, parameters if self._are_plain else
                      [plain(parameter) for parameter in parameters])

    def optimizer_state(self) -> None:
        ids, tensors = [], []
        for place, optimizer in enumerate(self._optimizers):
            states = optimizer.state
            planned, plan = self._state_plans.get(place, (None, ()))
            if planned is not states or len(plan) != len(states):
                plan = [(parameter, len(state), self._state_words(parameter, state))
                        for parameter, state in states.items()]
                self._state_plans[place] = states, plan
            for (parameter, state), (known, count, words) in zip(states.items(), plan, strict=True):
                if parameter is not known or len(state) != count:
                    self._state_plans.pop(place, None)
                    words = self._state_words(parameter, state)
                for word, probe in words:
                    # Another tensor in each step, maybe; None before the first update.
                    value = state.get(word)
                    if isinstance(value, torch.Tensor) and value.dim():
                        ids.append(probe)
                        tensors.append(plain(value))
        self._observe(record.OPTIMIZER, ids, tensors)

    def _state_words(self, parameter: torch.Tensor, state: dict) -> list[tuple[str, int]]:
        """Words of a parameter's state that the ledger has, and their probes."""
        known = self._state_ids.get(id(parameter), {})
        return [(word, known[word]) for word in state if word in known]

    def _observe(self, kind: int, ids: list[int], tensors: list[torch.Tensor]) -> None:
        if tensors:
            with self.record.enabled():
                torch.ops.mpopt.observe(tensors, self._token, ids, kind, self.record.hex)

    # -- Single tensors ------------------------------------------------------------------

    def value(self, probe: int, value: torch.Tensor) -> None:
        torch.ops.mpopt.observe([value], self._token, [probe], record.VALUE, self.record.hex)

    def output_gradient(self, probe: int, gradient: torch.Tensor) -> None:
        self._flowed = True
        torch.ops.mpopt.observe([plain(gradient)], self._token, [probe], record.GRADIENT,
                                self.record.hex)

    # -- What optimizers keep ------------------------------------------------------------

    def _state(self) -> Iterator[tuple[int, str, torch.Tensor]]:
        """Id of a parameter, word and tensor of what optimizers keep of it."""
        for optimizer in self._optimizers:
            for parameter, state in optimizer.state.items():
                for word, value in state.items():
                    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim():
                        yield id(parameter), word, value

    def _expected_state(self) -> Iterator[tuple[int, str, torch.Tensor]]:
        """The same for optimizers that have not stepped yet: of the parameters themselves."""
        for optimizer in self._optimizers:
            words = STATE_WORDS.get(type(optimizer).__name__.lower(), ())
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    for word in words:
                        yield id(parameter), word, parameter

    # -- What came -----------------------------------------------------------------------

    def take(self, sample: Sample) -> None:
        """The additions to the record since the last sample."""
        if not self.record:
            return
        seen, take = sample.seen, self.record.take
        for kind, ids in ((record.VALUE, self.value_ids), (record.GRADIENT, self._parameter_ids),
                          (record.PARAMETER, self._parameter_ids)):
            for index, probe in enumerate(ids):
                if probe >= 0 and (found := take(probe, kind)):
                    seen[kind, index] = found
        if self._flowed:
            self._flowed = False
            for index, probe in enumerate(self.value_ids):
                if probe >= 0 and (found := take(probe, record.GRADIENT)):
                    sample.flowed[index] = found
        self.record.order((self.value_ids[index] for index in sample.ran), sample.step)
        if not sample.ran:
            # In a compiled graph nobody says who ran; modules come as they were defined.
            sample.ran = [index for kind, index in seen if kind == record.VALUE]
