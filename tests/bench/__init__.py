"""The benchmark: this mirror, a plain client loop and MirrorMaker 2, side by side on a local pair (``make bench``)."""
