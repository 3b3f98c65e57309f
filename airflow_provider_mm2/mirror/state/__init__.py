"""State on the target: the gate, the ledger and the lease."""
