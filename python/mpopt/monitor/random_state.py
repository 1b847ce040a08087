"""The state of all random generators that a step may draw from."""

import random
import sys

import torch


def random_state() -> dict:
    """The state of PyTorch's generators, Python's, and NumPy's global one if that is loaded."""
    numpy = sys.modules.get("numpy")
    return {"cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
            "python": random.getstate(),
            **({"numpy": numpy.random.get_state()} if numpy else {})}


def set_random_state(state: dict) -> None:
    """Generators that the state does not have stay as they are."""
    torch.set_rng_state(state["cpu"])
    if state.get("cuda"):
        torch.cuda.set_rng_state_all(state["cuda"])
    if "python" in state:
        random.setstate(state["python"])
    if "numpy" in state and (numpy := sys.modules.get("numpy")):
        numpy.random.set_state(state["numpy"])
