"""Sensors: they wait for a flow or a group, in a worker or in the triggerer."""
