"""Where the tests of this folder find the servers that they share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `local_services.py` is beside the tests
