"""Documents as text: one value read, replaced, added or removed, and not a byte besides."""
