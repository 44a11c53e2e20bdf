"""What every export asks of those who call it: a model, and an optional package."""

from __future__ import annotations

from importlib import import_module

from isinglearn.errors import MissingPackage, NetworkError
from isinglearn.model import Model


def check_exportable(model: object, package: str) -> None:
    """Raise where ``to_<package>`` has no model, or where the package is missing, the name of its extra."""
    where = f"to_{package}"
    try:
        import_module(package)
    except ImportError as error:
        raise MissingPackage(
            "this needs a package that is not installed here",
            where=where,
            rule=f"the package {package}",
            received=str(error),
            remedy=f"pip install 'isinglearn[{package}]'",
        ) from error
    if not isinstance(model, Model):
        raise NetworkError(
            "this is no model",
            where=f"{where}(model)",
            rule="an isinglearn.Model",
            received=repr(model),
            remedy="what isinglearn.train returns is one, and an estimator's model_",
        )
