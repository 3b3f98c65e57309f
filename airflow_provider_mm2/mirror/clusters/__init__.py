"""Clusters: their settings, the names on them, and the Protocols through which the rest sees them."""
