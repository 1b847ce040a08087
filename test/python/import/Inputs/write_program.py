"""Writes program-VERSION.pt2 beside this file with the PyTorch that runs it."""
import pathlib

import torch


class Net(torch.nn.Module):
    """Weights of every layout: plain, tied, a view, BF16, one that is not saved with the state, a constant."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 3, bias=False)])
        self.layers[0].weight = torch.nn.Parameter(torch.arange(12.).reshape(3, 4))
        self.tied = self.layers[0].weight
        self.register_buffer("turned", torch.arange(12.).reshape(3, 4).t())
        self.register_buffer("narrow", torch.tensor([1, 2, 3], dtype=torch.bfloat16))
        self.register_buffer("unsaved", torch.tensor([100., 200., 300.]), persistent=False)
        # A tensor with an attribute is saved in another form.
        self.unsaved.note = True

    def forward(self, x):
        product = self.layers[0](x) + torch.nn.functional.linear(x, self.tied)
        return product, x @ self.turned, self.narrow + self.unsaved + torch.tensor([1000., 2000., 3000.])


version = torch.__version__.split("+")[0]
batch = torch.export.Dim("batch", min=2, max=64)
program = torch.export.export(Net(), (torch.ones(3, 4),), dynamic_shapes=({0: batch},))
torch.export.save(program, pathlib.Path(__file__).parent / f"program-{version}.pt2")
