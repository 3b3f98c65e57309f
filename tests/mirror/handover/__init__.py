"""Handing flows over between runs and connectors."""
