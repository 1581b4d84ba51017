"""PyTorch where it is installed: its devices, its threads, its random numbers.

Nothing here imports torch before it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from unmet.errors import InvalidInput, MissingPackage

_SHARED_WORK = 1 << 28  # multiplications of a forward pass: some ten milliseconds on one core


def load_torch() -> Any:
    """Import torch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingPackage.for_extra("backend='torch'", "torch", "torch") from None
    return torch


def find_device(device: Any, dtype: str) -> Any:
    """Device by name; None is the first CUDA GPU if there is one, else the CPU.

    Apple's "mps" must be asked for, as it has no float64 and no answers that repeat bit for bit.

    Parameters
    ----------
    device : str, torch.device or None
    dtype : {"float32", "float64"}

    Returns
    -------
    torch.device
    """
    torch = load_torch()
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(1, dtype=getattr(torch, dtype), device=found).item()
    except (RuntimeError, AssertionError, TypeError, ValueError):
        raise InvalidInput(
            f"device must be one that torch finds here and that computes in {dtype}, "
            f"such as 'cpu', got {device!r}."
        ) from None
    return found


@contextmanager
def fitting_threads(n_parameters: int, batch_size: int) -> Iterator[None]:
    """Let torch use one thread inside the ``with`` where steps are too small to be shared.

    Threads that wait for each other in every product cost more than they bring: on two cores that
    were busy otherwise, two 256-unit layers took ten times as long with two threads. Larger
    networks get as many threads as torch is set to. The setting is the process's, and is put back:
    of fits that overlap in several Python threads, the first to end lifts it.
    """
    torch = load_torch()
    before = torch.get_num_threads()
    few = n_parameters * batch_size < _SHARED_WORK
    if few:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if few:
            torch.set_num_threads(before)


@contextmanager
def own_randomness(device: Any, seed: int) -> Iterator[None]:
    """Seed what modules draw inside the ``with``, and leave the user's random numbers alone."""
    torch = load_torch()
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        if device.type == "cpu":
            torch.default_generator.manual_seed(seed)  # not those of idle GPUs, as manual_seed does
        else:
            torch.manual_seed(seed)
        yield


def torch_seed(*numbers: int) -> int:
    """One seed for torch from several numbers."""
    return int(np.random.default_rng([*numbers, 5]).integers(2**62))
