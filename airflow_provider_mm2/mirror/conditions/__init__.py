"""What people wait for before they go on: a flow mirrored so far, a lag, a group that has caught up or left."""
