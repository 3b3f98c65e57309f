"""Kafka's own Java code beside ours: programs of the tests, and MirrorMaker 2."""
