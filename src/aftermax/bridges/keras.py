"""Keras 3: a fitted head as a layer, on any backend. Needs the ``keras`` extra and a backend."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import Plan
from aftermax._wrapped.decision import THRESHOLD
from aftermax.bridges._formula import NO_THRESHOLD, certain, evaluate, formula_of, logits_width
from aftermax.bridges._head_inputs import FirstBatchCheck, warn_about_probabilities, wrong_number_of_inputs

try:
    import keras
    from keras import ops
except ImportError as error:
    if error.name == "keras":
        raise ImportError("Heads as Keras layers need keras: pip install 'aftermax[keras]'") from error
    backend = (error.name or "").partition(".")[0]
    raise ImportError(
        f"Keras is installed, but its backend ({backend}) is not: install it, or choose another one before keras is "
        "imported, for example os.environ['KERAS_BACKEND'] = 'torch'."
    ) from error

DTYPES = ("float32", "float64")
TYPES = {"columns": "int32", "means_units": "int32", "known": "bool"}  # of constants that are not numbers with a point


@keras.saving.register_keras_serializable(package="aftermax")
class Head(keras.layers.Layer):
    """A fitted head as a Keras layer: takes logits, or [logits, features], and returns log-probabilities.

    The argmax over the columns is the column that the Python head predicts (of a :class:`~aftermax.Decider`, call
    :meth:`decide`: its decision need not be the most probable class). The layer computes in float64, whatever
    the type of the logits and the dtype policy of the model, because then its predictions equal the Python head's.
    In float32 it is faster, and may change the prediction of samples that are within rounding of another class. JAX
    has float64 only after ``jax.config.update("jax_enable_x64", True)``; without it, the layer computes in float32.

    The layer has non-trainable weights only, and is saved and loaded with the model that it is part of. Call ``import
    aftermax.bridges.keras`` before ``keras.models.load_model``. It processes all samples of a batch at once, which for
    SPH takes n_classes ** 2 values per sample, or 65,536 with more than 256 classes.

    The layer warns if it is put behind a softmax, or if the first batch that it is called with consists of
    probabilities.

    Parameters
    ----------
    plan, shapes, classes, width
        Use :meth:`from_fitted` instead. A layer created in another way, as by ``keras.models.clone_model``, returns
        NaN until its weights are set.
    dtype : {"float64", "float32"}, default="float64"
        The type to compute in and to return.
    **options
        Arguments of every Keras layer, such as ``name``.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class of each column.
    width : int or None
        The number of features; None if the head was fitted without features.

    Examples
    --------
    >>> import keras
    >>> import aftermax.bridges.keras
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> fitted = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> layer = aftermax.bridges.keras.Head.from_fitted(fitted)
    >>> columns = keras.ops.argmax(layer(scores.test_logits), axis=1)  # layer.classes has the class of each column
    >>> bool(keras.ops.all(keras.ops.equal(columns, fitted.predict(scores.test_logits))))
    True
    >>> images = keras.Input((784,))
    >>> logits = keras.layers.Dense(10)(images)  # your network, without its softmax
    >>> model = keras.Model(images, layer(logits))  # as one model: model.save("model.keras")
    """

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
        self._wanted = keras.dtype_policies.get(dtype)  # what a file holds, whatever the backend can do
        lacking = self._wanted.compute_dtype == "float64" and not _has_float64()
        super().__init__(dtype="float32" if lacking else self._wanted, **options)
        if self.compute_dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r} is too low for a head: use one of {', '.join(DTYPES)}.")
        self.classes: NDArray[Any] = np.array(classes)
        self.width = width
        self._plan, self._shapes = plan, shapes
        self._first_batch_check = FirstBatchCheck()
        self._one_logit = logits_width(shapes, self.classes) == 1
        sizes = [logits_width(shapes, self.classes)] + ([] if width is None else [width])
        specs = [keras.layers.InputSpec(ndim=2, axes={-1: size}) for size in sizes]
        self.input_spec = specs[0] if width is None else specs
        unset = keras.initializers.Constant(np.nan)
        self._constants = {
            name: self.add_weight(name=name, shape=tuple(shape), initializer=unset, trainable=False)
            for name, shape in shapes.items()
        }

    @classmethod
    def from_fitted(cls, head: Any, dtype: Literal["float64", "float32"] = "float64", **options: Any) -> Head:
        """Create the layer from a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
        formula = formula_of(head)
        if formula.classes.dtype.kind == "S":
            raise TypeError("Classes that are bytes cannot be saved with a model: fit the head on strings.")
        shapes = {name: list(values.shape) for name, values in formula.constants.items()}
        layer = cls(formula.plan, shapes, formula.classes.tolist(), formula.width, dtype=dtype, **options)
        for name, values in formula.constants.items():
            layer._constants[name].assign(values.astype(layer.compute_dtype))
        return layer

    def build(self, input_shape: Any) -> None:
        """Do nothing: the weights are created in ``__init__``."""
        self.built = True

    def __call__(self, inputs: Any, *more: Any, **options: Any) -> Any:
        """Check the inputs, and compute log-probabilities as :meth:`call` does."""
        parts = inputs if isinstance(inputs, list | tuple) else [inputs]
        if more or len(parts) != (1 if self.width is None else 2):
            call = "head(logits)" if self.width is None else "head([logits, features]), as one list"
            raise wrong_number_of_inputs(self.width, call)
        self._warn_if_probabilities(parts[0])
        if isinstance(parts[-1], list | tuple) and self.width is not None:
            inputs = [parts[0], _side_by_side(parts[-1])]
        return super().__call__(inputs, **options)

    def _warn_if_probabilities(self, logits: Any) -> None:
        """Warn of probabilities: judged by the layer that they come from, or else by the first batch."""
        if isinstance(logits, keras.KerasTensor):
            if _comes_from(logits, "sigmoid" if self._one_logit else "softmax"):
                warn_about_probabilities(stacklevel=3, one_logit=self._one_logit)
        elif not self._first_batch_check.done:
            try:
                values = ops.convert_to_numpy(logits)
            except Exception:  # While traced there are no values, and each backend raises its own error.
                return
            self._first_batch_check(values, stacklevel=3)

    def call(self, inputs: Any) -> Any:
        """Compute log-probabilities.

        Parameters
        ----------
        inputs : tensor of shape (n_samples, n_classes), or list of two tensors
            Logits of the model that the head was fitted on, of shape (n_samples, 1) if it was fitted on one logit. If
            the head was fitted with features, a list [logits, features], with features of shape (n_samples,
            n_features). Those of several layers are put side by side: [logits, [features, more_features]].

        Returns
        -------
        tensor of shape (n_samples, n_classes)
            Log-probabilities, one column per class in the order of ``classes``.
        """
        return self._evaluated(inputs)[1]

    def decide(self, inputs: Any) -> Any:
        """Compute what the Python head predicts, as the column of each sample.

        For a :class:`~aftermax.Decider` that is the decision, which need not be the most probable class. For any other
        head it is the argmax of the log-probabilities.

        Parameters
        ----------
        inputs : tensor of shape (n_samples, n_classes), or list of two tensors
            As for :meth:`call`.

        Returns
        -------
        tensor of shape (n_samples,)
            Column numbers: ``layer.classes[columns]`` are the classes.
        """
        return ops.squeeze(self._evaluated(inputs)[0], axis=1)

    def is_certain(self, inputs: Any) -> Any:
        """Compute whether the head may decide each sample alone, for a :class:`~aftermax.Decider` with ``max_error``.

        Parameters
        ----------
        inputs : tensor of shape (n_samples, n_classes), or list of two tensors
            As for :meth:`call`.

        Returns
        -------
        tensor of shape (n_samples,)
            Booleans: where they are false, the sample is for a person.
        """
        if THRESHOLD not in self._constants:
            raise ValueError(NO_THRESHOLD)
        return ops.squeeze(self._evaluated(inputs)[2], axis=1)

    def _evaluated(self, inputs: Any) -> tuple[Any, Any, Any]:
        """Decisions, log-probabilities and, for a head with a threshold, whether each decision is certain."""
        parts = [ops.cast(values, self.compute_dtype) for values in ([inputs] if self.width is None else inputs)]
        constants = {name: ops.convert_to_tensor(values) for name, values in self._constants.items()}
        for name, dtype in TYPES.items():
            if name in constants:
                constants[name] = ops.cast(constants[name], dtype)
        dtype = parts[0].dtype
        found = evaluate(self._plan, _Keras(dtype), constants, parts)
        return *found, certain(_Keras(dtype), constants, *found) if THRESHOLD in constants else None

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
        """Return the shape of the output, for one input shape or a list of two."""
        return ((input_shape if self.width is None else input_shape[0])[0], len(self.classes))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments to create the layer again, without its weights."""
        own = {"plan": self._plan, "shapes": self._shapes, "classes": self.classes.tolist(), "width": self.width}
        return {**super().get_config(), **own, "dtype": keras.dtype_policies.serialize(self._wanted)}


def _has_float64() -> bool:
    """Whether the backend computes in float64: JAX only if it is told to, and otherwise warns at every step."""
    return keras.backend.backend() != "jax" or bool(import_module("jax").config.jax_enable_x64)


def _side_by_side(features: Sequence[Any]) -> Any:
    """The features of several layers as one tensor."""
    if not features:
        raise ValueError("features is an empty list: pass the features of the layers that the head was fitted on.")
    for number, values in enumerate(features):
        if len(values.shape) != 2:
            raise ValueError(
                f"features[{number}] is of shape {tuple(values.shape)}: pass tensors of shape (n_samples, n_features). "
                "Flatten a layer with more axes first, by keras.layers.Flatten."
            )
    return ops.concatenate(list(features), axis=1)


def _comes_from(tensor: Any, activation: Literal["softmax", "sigmoid"]) -> bool:
    """Whether the layer or operation that returns a tensor, also inside a model, is or ends in the activation."""
    history = getattr(tensor, "_keras_history", None)
    if history is None:
        return False
    source = history.operation
    outputs = getattr(source, "outputs", None) if isinstance(source, keras.Model) else None
    if outputs:
        return _comes_from(outputs[history.tensor_index], activation)
    own = getattr(source, "activation", None)
    return type(source).__name__ == activation.capitalize() or own is getattr(keras.activations, activation)


class _Keras:
    """The formula's array operations in Keras."""

    exp, log, abs = staticmethod(ops.exp), staticmethod(ops.log), staticmethod(ops.abs)
    where = staticmethod(ops.where)

    def __init__(self, dtype: Any) -> None:
        self.dtype = keras.backend.standardize_dtype(dtype)
        self.epsilon = float(np.finfo(self.dtype).eps)

    def maximum(self, one: Any, other: Any) -> Any:
        return ops.where(one > other, one, other)  # ops.maximum of float64 is float32 in Keras 3.15 on PyTorch

    def power(self, value: Any, exponent: float) -> Any:
        return value * value if exponent == 2.0 else ops.power(value, exponent)

    def as_float(self, condition: Any) -> Any:
        return ops.cast(condition, self.dtype)

    def row_max(self, value: Any) -> Any:
        return ops.max(value, axis=-1, keepdims=True)

    def row_kth_largest(self, value: Any, k: int) -> Any:
        return ops.top_k(value, k)[0][..., -1:]

    def row_sum(self, value: Any) -> Any:
        return ops.sum(value, axis=-1, keepdims=True)

    def row_argmax(self, value: Any) -> Any:
        return ops.cast(ops.argmax(value, axis=-1, keepdims=True), "int32")

    def rows(self, value: Any, first: int, last: int) -> Any:
        return value[first:last]

    def take_columns(self, value: Any, columns: Any) -> Any:
        return ops.take(value, columns, axis=1)

    def side_by_side(self, parts: Sequence[Any]) -> Any:
        return parts[0] if len(parts) == 1 else ops.concatenate(list(parts), axis=1)

    def insert_axis(self, value: Any) -> Any:
        return ops.expand_dims(value, 1)

    def drop_last_axis(self, value: Any) -> Any:
        return ops.squeeze(value, 2)
