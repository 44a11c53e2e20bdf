"""Shared by all tests."""

import sys
from pathlib import Path

# Helpers of the tests live beside them and are imported by name.
sys.path.insert(0, str(Path(__file__).parent))
