"""A flow goes from one engine to the other, without losing or repeating a record."""
