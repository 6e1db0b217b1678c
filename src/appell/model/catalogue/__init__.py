"""Built-in robots."""

from __future__ import annotations

from appell.model.catalogue.random import random_chain, random_tree

__all__ = ["random_chain", "random_tree"]
