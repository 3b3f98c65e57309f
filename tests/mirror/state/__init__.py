"""Tests of what the mirror keeps on the target."""
