"""Tests of what moves consumers."""
