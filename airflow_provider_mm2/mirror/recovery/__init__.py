"""Failing over and coming home: the numbered steps, what is recorded of them, and each of them done."""
