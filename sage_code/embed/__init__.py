"""Turns texts into vectors: `default_embedder()` loads the default model, `load_embedder` any other.

Importing this package loads no model and no NumPy.
"""

from __future__ import annotations

from sage_code.embed.loading import default_embedder, load_embedder
from sage_code.embed.naming import ModelInfo, describe
from sage_code.embed.protocol import Embedder, Notify, Role

__all__ = ["Embedder", "ModelInfo", "Notify", "Role", "default_embedder", "describe", "load_embedder"]
