"""One contract for the fake and the real clusters; the real variant is marked ``broker``."""
