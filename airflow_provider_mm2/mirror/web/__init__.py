"""Talking HTTP: one endpoint with its log-in and TLS, and waiting for it."""
