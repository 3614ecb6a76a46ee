"""Keras 3: a fitted head as a layer, on any backend. Needs the ``keras`` extra, and a backend."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.validation import PROBABILITIES_TOLD, look_like_probabilities
from aftermax.bridges._formula import Plan, evaluate, formula_of

try:
    import keras
    from keras import ops
except ImportError as error:
    if error.name == "keras":
        raise ImportError("Heads as Keras layers need keras: pip install 'aftermax[keras]'") from error
    backend = (error.name or "").partition(".")[0]
    raise ImportError(
        f"Keras is there, but not its backend ({backend}): install it, or name another before keras is imported, "
        "for instance os.environ['KERAS_BACKEND'] = 'torch'."
    ) from error

PRECISIONS = ("float32", "float64")


@keras.saving.register_keras_serializable(package="aftermax")
class Head(keras.layers.Layer):
    """A fitted head as a layer: from logits, or [logits, features], to log-probabilities.

    The argmax of a row is the column that the Python head's ``predict`` answers with. The head computes in float64,
    whatever the logits come in and whatever the model's precision is, for then its answers are the Python head's. In
    float32 it is faster, and may change the answer to rows that are within rounding of another. JAX has float64 only
    after ``jax.config.update("jax_enable_x64", True)``, and computes in float32 otherwise.

    It holds constants only, as weights that are not trained, and is saved and loaded with the model that it is in:
    ``import aftermax.bridges.keras`` before ``keras.models.load_model``. All rows of a batch are in memory at once,
    which for SPH is K * K numbers for each: with many classes, mind the batch size.

    When it is put behind a softmax, or the first rows that it is called with are probabilities, it warns.

    Parameters
    ----------
    plan, shapes, classes, width
        Use :meth:`from_fitted`. Made in another way, as by ``keras.models.clone_model``, it says NaN until its weights
        are set.
    dtype : {"float64", "float32"}, default="float64"
        What to compute in, and to return.
    **options
        What every layer takes: ``name`` and so on.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The class of each column.
    width : int or None
        How many columns the features have; None for a head that takes none.

    Examples
    --------
    >>> import keras
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.keras import Head
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> fitted = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> head = Head.from_fitted(fitted)
    >>> answers = keras.ops.argmax(head(scores.test_logits), axis=1)  # columns; head.classes has the class of each
    >>> bool(keras.ops.all(keras.ops.equal(answers, fitted.predict(scores.test_logits))))
    True
    >>> images = keras.Input((784,))
    >>> logits = keras.layers.Dense(10)(images)  # your network, without its softmax
    >>> model = keras.Model(images, head(logits))  # to ship as one: model.save("model.keras")
    """

    _looked = False  # at the first rows

    def __init__(
        self,
        plan: Plan,
        shapes: dict[str, list[int]],
        classes: Sequence[Any],
        width: int | None = None,
        *,
        dtype: Any = "float64",
        **options: Any,
    ) -> None:
        super().__init__(dtype=dtype, **options)
        if self.compute_dtype not in PRECISIONS:
            raise ValueError(f"dtype={dtype!r} is too low for a head: use one of {', '.join(PRECISIONS)}.")
        self.classes: NDArray[Any] = np.array(classes)
        self.width = width
        self._plan, self._shapes = plan, shapes
        sizes = [len(self.classes)] + ([] if width is None else [width])
        specs = [keras.layers.InputSpec(ndim=2, axes={-1: size}) for size in sizes]
        self.input_spec = specs[0] if width is None else specs
        unset = keras.initializers.Constant(np.nan)
        self._constants = {
            name: self.add_weight(name=name, shape=tuple(shape), initializer=unset, trainable=False)
            for name, shape in shapes.items()
        }

    @classmethod
    def from_fitted(cls, head: Any, dtype: Literal["float64", "float32"] = "float64", **options: Any) -> Head:
        """The layer of a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
        formula = formula_of(head)
        if formula.classes.dtype.kind == "S":
            raise TypeError("Classes that are bytes cannot be saved with a model: fit the head on strings.")
        shapes = {name: list(values.shape) for name, values in formula.constants.items()}
        layer = cls(formula.plan, shapes, formula.classes.tolist(), formula.width, dtype=dtype, **options)
        for name, values in formula.constants.items():
            layer._constants[name].assign(values.astype(layer.compute_dtype))
        return layer

    def build(self, input_shape: Any) -> None:
        """Nothing is left to build: the shapes were known from the beginning."""
        self.built = True

    def __call__(self, inputs: Any, *more: Any, **options: Any) -> Any:
        """See :meth:`call`; what would ruin the answers is told first."""
        parts = inputs if isinstance(inputs, list | tuple) else [inputs]
        if more or len(parts) != (1 if self.width is None else 2):
            raise ValueError(
                "This head was fitted without features: pass logits only, head(logits)."
                if self.width is None
                else f"This head was fitted with features ({self.width} columns): pass both as one list, "
                "head([logits, features])."
            )
        self._look_at(parts[0])
        return super().__call__(inputs, **options)

    def _look_at(self, logits: Any) -> None:
        """Warn of probabilities: by the layer they come from, or by the first rows that come."""
        if isinstance(logits, keras.KerasTensor):
            found = _comes_from_softmax(logits)
        else:
            found = not self._looked and self._are_probabilities(logits)
        if found:
            warnings.warn(PROBABILITIES_TOLD, UserWarning, stacklevel=3)

    def _are_probabilities(self, logits: Any) -> bool:
        try:
            values = ops.convert_to_numpy(logits)
        except Exception:  # While traced there are no numbers, which each backend says in its own way.
            return False
        self._looked = values.ndim == 2 and len(values) > 0
        return self._looked and look_like_probabilities(values)

    def call(self, inputs: Any) -> Any:
        """Log-probabilities of the classes, of shape (n_rows, K).

        Parameters
        ----------
        inputs : tensor of shape (n_rows, K), or a list
            Logits as the head was fitted on; [logits, features] for a head that was fitted with features.
        """
        parts = [ops.cast(some, self.compute_dtype) for some in ([inputs] if self.width is None else inputs)]
        constants = {name: ops.convert_to_tensor(values) for name, values in self._constants.items()}
        constants["columns"] = ops.cast(constants["columns"], "int32")
        if "known" in constants:
            constants["known"] = ops.cast(constants["known"], "bool")
        precision = parts[0].dtype  # what the backend made of it: JAX may have no float64
        return evaluate(self._plan, _Keras(precision), constants, parts)[1]

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        """Of inputs of this shape, or these."""
        return ((input_shape if self.width is None else input_shape[0])[0], len(self.classes))

    def get_config(self) -> dict[str, Any]:
        """What the layer is made again from, but for its weights."""
        own = {"plan": self._plan, "shapes": self._shapes, "classes": self.classes.tolist(), "width": self.width}
        return {**super().get_config(), **own}


def _comes_from_softmax(tensor: Any) -> bool:
    """Whether the layer or operation that gives a tensor, also inside of a model, is or ends in softmax."""
    history = getattr(tensor, "_keras_history", None)
    if history is None:
        return False
    source = history.operation
    inside = getattr(source, "outputs", None) if isinstance(source, keras.Model) else None
    if inside:
        return _comes_from_softmax(inside[history.tensor_index])
    return type(source).__name__ == "Softmax" or getattr(source, "activation", None) is keras.activations.softmax


class _Keras:
    """Keras's dialect of the formula."""

    exp, log, abs = staticmethod(ops.exp), staticmethod(ops.log), staticmethod(ops.abs)
    maximum, where = staticmethod(ops.maximum), staticmethod(ops.where)

    def __init__(self, precision: Any) -> None:
        self.precision = keras.backend.standardize_dtype(precision)
        self.epsilon = float(np.finfo(self.precision).eps)

    def power(self, value: Any, exponent: float) -> Any:
        return value * value if exponent == 2.0 else ops.power(value, exponent)

    def as_float(self, condition: Any) -> Any:
        return ops.cast(condition, self.precision)

    def row_max(self, value: Any) -> Any:
        return ops.max(value, axis=-1, keepdims=True)

    def row_sum(self, value: Any) -> Any:
        return ops.sum(value, axis=-1, keepdims=True)

    def row_argmax(self, value: Any) -> Any:
        return ops.cast(ops.argmax(value, axis=-1, keepdims=True), "int32")

    def insert_axis(self, value: Any) -> Any:
        return ops.expand_dims(value, 1)

    def drop_last_axis(self, value: Any) -> Any:
        return ops.squeeze(value, 2)
