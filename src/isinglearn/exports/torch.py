"""A trained network as a torch module, which computes exactly what the network computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isinglearn.exports.checks import check_exportable
from isinglearn.exports.onnx_graph import Bounds, Value
from isinglearn.model import Model

if TYPE_CHECKING:
    from isinglearn.exports.torch_module import TorchModel


def to_torch(model: Model) -> TorchModel:
    """Turn a model into a ``torch.nn.Module``, in ``eval`` mode.

    ``module(X)`` equals ``model.outputs(X)``, float64, (samples, outputs). ``module.predict(X)`` equals
    ``model.predict(X)``, (samples,): int64, the sign or the index of the largest output; with ``classes``
    always an index into ``module.classes``; with ``target_range`` a float64 number of it. ``X`` is laid out
    as for the model: whole numbers in ``[-2^B, 2^B]`` of any type, or, where the model has a quantiser, real
    features. Equal means ``==``, on every device with float64.

    ``print(module)`` shows the layers. ``module.state_dict()`` holds the parameters as in
    ``model.parameters``, whole numerators: ``network.layer1.linear.weight``; each layer has their
    ``denominators``. They are float64 and not trained; a module that is cast to another type refuses to
    compute. What is compiled or exported by torch does not check its inputs.

    It computes with whole numbers in float64 below ``2^53`` and refuses models beyond that.
    """
    check_exportable(model, "torch")
    import torch

    from isinglearn.exports.torch_module import TorchModel

    module = TorchModel(model).eval()
    # Once through, so that what no module can compute is said now.
    module(torch.zeros(1, *model.network.input_shape, device=module.scale.device))
    largest = 1 << model.quantiser.bits if model.quantiser else model.largest_input
    model.network.to_onnx(Bounds(), model.parameters, Value("X", largest))
    return module
