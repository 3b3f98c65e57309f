"""Triggers: what a deferred sensor waits by."""
