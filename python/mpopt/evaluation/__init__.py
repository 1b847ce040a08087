"""What a module of mp ops computes, in PyTorch: `ir` reads its text, `evaluate` runs it."""
