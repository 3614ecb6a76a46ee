"""Arrays of other libraries, as numpy has them, without importing these libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL_FLOATS = ("bfloat16", "float8_", "float6_", "float4_")  # the beginnings of the names of types that numpy lacks
PLAIN = "biufUSO"  # kinds of numpy's own types


def as_plain(values: Any, what: str) -> Any:
    """Tensors of PyTorch and numbers in bfloat16 as numpy arrays; other arrays, data frames and lists as they are.

    A tensor may need gradients, and be on any device. Refused, with what to pass, are masked values and lazy frames.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.foreign_arrays import as_plain
    >>> as_plain(np.ma.masked_array([1.0, 2.0]), "logits")
    array([1., 2.])
    """
    if isinstance(values, np.ma.MaskedArray):
        masked = int(np.count_nonzero(np.ma.getmaskarray(values)))
        if masked:
            hint = " Mask out a class with a logit of -1e4." * (what == "logits")
            raise ValueError(
                f"{what} is a masked array, in which {masked:,} values are masked: drop the samples with such values, "
                f"or fill them in with .filled(...).{hint}"
            )
        return np.ma.getdata(values)
    if isinstance(values, np.ndarray) and values.dtype.kind in PLAIN:
        return values
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"{what} is a LazyFrame, which holds no values yet: pass {what}.collect().")
    small = str(getattr(values, "dtype", "")).removeprefix("torch.").startswith(SMALL_FLOATS)
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        tensor = values.detach().cpu()
        return (tensor.float() if small else tensor).numpy()
    named = getattr(getattr(values, "dtype", None), "name", "")
    if small or (isinstance(named, str) and named.startswith(SMALL_FLOATS)):
        return np.asarray(values).astype(np.float32)
    return values
