"""Tests: the tree mirrors the package; ``fakes`` and ``contract`` are shared."""
