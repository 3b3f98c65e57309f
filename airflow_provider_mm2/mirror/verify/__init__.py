"""Proof of a mirror: both sides read and compared."""
