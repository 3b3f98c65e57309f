"""MirrorMaker 2 on Kafka Connect."""
