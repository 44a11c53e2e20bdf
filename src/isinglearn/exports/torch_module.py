"""TorchModel: a model as a torch module. Importing this file needs torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
import torch

from isinglearn.errors import DataError, NetworkError
from isinglearn.model import Model
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn.module import Module
from isinglearn.problem.encodings import IntArray


class TorchModel(torch.nn.Module):  # type: ignore[misc]
    """A network in whole numbers, with what stands before and behind it.

    Attributes
    ----------
    quantiser
        What turns real features into whole numbers, or ``None``.
    network
        Layers by name, each a ``Sequential`` of its modules; it gives numerators.
    classes
        Names that predictions are indices of, or ``None``.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.input_shape, self.largest_input = model.network.input_shape, model.largest_input
        self.classes = model.classes
        self.quantiser = None if model.quantiser is None else Quantise(model.quantiser)
        self.network = stacked(model.network, model.parameters, 1)
        # A tensor, and so on the device of all others: by a plain number torch multiplies with its inverse
        # on some devices, which rounds twice.
        self.register_buffer("scale", _floats(model.network.output_scale), persistent=False)
        ends = None if model.target_range is None else _floats(model.target_range)
        self.register_buffer("target_range", ends)

    def forward(self, X: Any) -> torch.Tensor:
        """Turn inputs into outputs, (samples, outputs)."""
        return self._numerators(X) / self.scale

    def predict(self, X: Any) -> torch.Tensor:
        """Turn inputs into predictions, (samples,)."""
        if self.target_range is not None:
            low, high = self.target_range
            share = (self(X)[:, 0] + 1) / 2
            return low * (1 - share) + high * share
        numerators = self._numerators(X)
        if numerators.shape[1] > 1:
            return numerators.argmax(dim=1)
        return torch.where(numerators[:, 0] >= 0, 1, -1 if self.classes is None else 0)

    def _numerators(self, X: Any) -> torch.Tensor:
        values = self._inputs(torch.as_tensor(X))
        if self.quantiser is not None:
            values = self.quantiser(values)
        return self.network(values.reshape(-1, *self.input_shape)).flatten(1)

    # -- what it refuses ---------------------------------------------------------------------------

    def _inputs(self, X: torch.Tensor) -> torch.Tensor:
        """Turn inputs into checked float64, (samples, features)."""
        self._check_type()
        self._check_shape(tuple(X.shape))
        values = X.to(torch.float64).flatten(1)
        # Numbers are not known yet while torch writes down what is computed.
        if not torch.compiler.is_compiling():
            self._check_numbers(values)
        return values

    def _check_type(self) -> None:
        for name, held in (*self.named_parameters(), *self.named_buffers()):
            if held.dtype != torch.float64:
                raise NetworkError(
                    "this module was cast to another type, which is not exact",
                    where=name,
                    rule="float64",
                    received=held.dtype,
                    remedy="call to_torch again, and move it by .to(device) only",
                )

    def _check_shape(self, size: tuple[int, ...]) -> None:
        flat, grey = (prod(self.input_shape),), self.input_shape[1:]
        fitting = [flat, self.input_shape, *([grey] if self.input_shape[0] == 1 and grey else [])]
        if size[1:] not in fitting:
            raise DataError(
                "the data does not fit the network",
                where="X",
                rule="samples of shape " + " or ".join(map(str, dict.fromkeys(fitting))),
                received=f"shape {size}",
                remedy="change the data; images have their channels first",
            )

    def _check_numbers(self, values: torch.Tensor) -> None:
        if self.quantiser is not None:
            good, rule = ~values.isnan(), "numbers"
            remedy = "drop or fill the missing values"
        else:
            good = (values == values.round()) & (values.abs() <= self.largest_input)
            rule = f"whole numbers from {-self.largest_input} to {self.largest_input}"
            remedy = "quantise the features as for training: isinglearn.quantise"
        if not bool(good.all()):
            row, column = (~good).nonzero()[0].tolist()
            raise DataError(
                "a value is none that the network takes",
                where=f"X[{row}, {column}]",
                rule=rule,
                received=values[row, column].item(),
                remedy=remedy,
            )


class Layer(torch.nn.Module):  # type: ignore[misc]
    """One module of ``isinglearn.nn`` with its parameters; it computes by the module's ``to_torch``.

    Attributes
    ----------
    denominators
        Of each parameter: what its numerators are over.
    """

    def __init__(self, source: Module, parameters: Mapping[str, IntArray], incoming: int) -> None:
        super().__init__()
        # A module that has modules inside, as Residual, holds their parameters, too.
        chain = getattr(source, "chain", None)
        own = source.parameters if chain is None else ()
        self.source, self.incoming = source, incoming
        self.denominators = {spec.name: spec.domain.denominator for spec in own}
        for spec in own:
            numerators = _floats(parameters[spec.name])
            self.register_parameter(spec.name, torch.nn.Parameter(numerators, requires_grad=False))
        for name, seen in source.seen().items():
            self.register_buffer(name, _floats(seen))
        if chain is not None:
            self.chain = stacked(chain, parameters, incoming)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Turn numerators over ``incoming`` into those of the next layer."""
        return self.source.to_torch(self, values, self.incoming)

    def _get_name(self) -> str:
        return type(self.source).__name__

    def __repr__(self) -> str:
        if len(self._modules):
            return str(super().__repr__())
        over = ", ".join(f"{name} / {d}" for name, d in self.denominators.items() if d > 1)
        return f"{self.source}" + (f" with {over}" if over else "")


def stacked(
    modules: Iterable[tuple[str, Module]], parameters: Mapping[str, IntArray], scale: int
) -> torch.nn.Sequential:
    """Turn pairs of origin and module into layers by name: ``layer1.linear``, ``layer1.sign``, ..."""
    layers: dict[str, torch.nn.Sequential] = {}
    for origin, module in modules:
        own = {spec.name: parameters[f"{origin}.{spec.name}"] for spec in module.parameters}
        name, _, again = origin.partition(".")
        inside = layers.setdefault(name, torch.nn.Sequential())
        inside.add_module(type(module).__name__.lower() + again, Layer(module, own, scale))
        scale = module.scale(scale)
    whole = torch.nn.Sequential()
    for name, layer in layers.items():
        whole.add_module(name, layer)
    return whole


class Quantise(torch.nn.Module):  # type: ignore[misc]
    """Real features as whole numbers in ``[-2^B, 2^B]``, by the operations of ``Quantiser``."""

    def __init__(self, quantiser: Quantiser) -> None:
        super().__init__()
        self.bits = quantiser.bits
        for name, numbers in quantiser.steps._asdict().items():
            self.register_buffer(name, _floats(numbers))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Turn real features (samples, features) into whole numbers."""
        ahead = self.factor * values.clamp(self.low, self.high) - self.start
        unit = (ahead / self.span).clamp(0, 1)
        return ((2 * unit - 1) * 2**self.bits).round()

    def extra_repr(self) -> str:
        """How many features, and what becomes of them."""
        return f"{len(self.low)} features to whole numbers in [-{2**self.bits}, {2**self.bits}]"


def _floats(numbers: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(numbers, dtype=np.float64))
