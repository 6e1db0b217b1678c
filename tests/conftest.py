"""Makes the helper modules of this folder importable from every test (`from helpers import ...`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
