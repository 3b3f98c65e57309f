"""An application that follows its data to the target: with our tools, with MirrorMaker 2's, and under MirrorMaker 2."""
