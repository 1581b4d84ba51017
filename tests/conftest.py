"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no reason to fail, and CI must judge the same examples every time.
settings.register_profile("unmet", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("unmet")
