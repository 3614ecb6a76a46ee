"""The operations of a head's formula in PyTorch: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class TorchOperations:
    """The formula's array operations in PyTorch."""

    exp, log, abs = staticmethod(torch.exp), staticmethod(torch.log), staticmethod(torch.abs)
    maximum = staticmethod(torch.maximum)

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.epsilon = torch.finfo(dtype).eps

    def power(self, value: Tensor, exponent: float) -> Tensor:
        if exponent == 2.0:
            return value * value
        if 0.0 < exponent < 1.0:  # the derivative at 0 is infinite, which would make gradients NaN
            positive = value > 0.0
            return torch.where(positive, torch.where(positive, value, 1.0) ** exponent, 0.0)
        return value**exponent

    def where(self, condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
        return torch.where(condition, one, other)

    def as_float(self, condition: Tensor) -> Tensor:
        return condition.to(self.dtype)

    def row_max(self, value: Tensor) -> Tensor:
        return value.amax(dim=-1, keepdim=True)

    def row_kth_largest(self, value: Tensor, k: int) -> Tensor:
        return value.topk(k, dim=-1).values[..., -1:]

    def row_sum(self, value: Tensor) -> Tensor:
        return value.sum(dim=-1, keepdim=True)

    def row_argmax(self, value: Tensor) -> Tensor:
        return value.argmax(dim=-1, keepdim=True)

    def rows(self, value: Tensor, first: int, last: int) -> Tensor:
        return value[first:last]

    def take_columns(self, value: Tensor, columns: Tensor) -> Tensor:
        return value[:, columns]

    def side_by_side(self, parts: Sequence[Tensor]) -> Tensor:
        return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=1)

    def insert_axis(self, value: Tensor) -> Tensor:
        return value.unsqueeze(1)

    def drop_last_axis(self, value: Tensor) -> Tensor:
        return value.squeeze(2)
