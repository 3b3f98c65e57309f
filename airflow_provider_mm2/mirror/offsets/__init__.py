"""Positions of consumer groups: the offset map, translation, checkpoints and the groups themselves."""
