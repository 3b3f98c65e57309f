"""MirrorMaker 2's own configuration, read and turned into flows. Pure: no file and no cluster is touched."""
