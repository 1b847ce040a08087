"""Evaluation of a module of mp ops by PyTorch: `ir` reads its text, `evaluate` runs it."""
