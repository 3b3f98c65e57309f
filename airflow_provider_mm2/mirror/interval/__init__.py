"""One interval: what a run covers, the topics it needs, and the transactional copy."""
