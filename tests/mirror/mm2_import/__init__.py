"""Tests of what becomes of MirrorMaker 2's own configuration."""
