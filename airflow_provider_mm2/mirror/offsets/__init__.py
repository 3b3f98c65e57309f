"""Offsets of one side as offsets of the other, and the records by which MirrorMaker 2 and its clients know them."""
