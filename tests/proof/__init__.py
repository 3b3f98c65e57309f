"""The proof of exactly-once: attempts are killed, frozen and doubled at every step, and every record is counted."""
