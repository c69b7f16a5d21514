"""The versions of what runs here."""

import importlib.metadata
import platform

PACKAGES = ("tsnl", "jax", "jaxlib", "numpy", "numpyro", "equinox", "optax", "flowjax", "blackjax")


def versions() -> dict[str, str]:
    """Name to version of Python, the platform and the packages that figures depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
