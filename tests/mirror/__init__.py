"""Tests of the mirror itself."""
