"""Makes the helper modules of this folder importable from every test (`from helpers import ...`)."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("library", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("library")
