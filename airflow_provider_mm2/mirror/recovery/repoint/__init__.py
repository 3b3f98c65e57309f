"""Applications' configuration: what a failover changes in it, item by item, and how that is undone."""
