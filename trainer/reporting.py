"""Where else a run's metrics go: what transformers' trainer can report to. Nothing here imports any of it."""

from collections.abc import Sequence
from importlib.util import find_spec

from rollback_gym.core.errors import ConfigError, MissingExtra

_MODULES = {
    "azure_ml": ("azureml",),
    "clearml": ("clearml",),
    "codecarbon": ("codecarbon",),
    "comet_ml": ("comet_ml",),
    "dagshub": ("dagshub",),
    "dvclive": ("dvclive",),
    "flyte": ("flytekit",),
    "mlflow": ("mlflow",),
    "neptune": ("neptune",),
    "swanlab": ("swanlab",),
    "tensorboard": ("tensorboard", "tensorboardX"),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
}
"""transformers' names, and the modules of which each needs one."""


def check(report_to: Sequence[str]) -> None:
    """Raise ConfigError at a name that is unknown."""
    for name in report_to:
        if name not in _MODULES:
            raise ConfigError(f"report_to must be some of {', '.join(_MODULES)}, got {name!r}.")


def check_there(report_to: Sequence[str]) -> None:
    """Raise MissingExtra at what is not installed."""
    for name in report_to:
        modules = _MODULES[name]
        if not any(map(find_spec, modules)):
            raise MissingExtra(f"report_to: {name} is not installed: pip install {modules[0]}. Or leave it out.")
