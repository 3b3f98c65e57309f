"""Cases from the field: what users of Kafka mirroring ran into, each on real Kafka with its right value."""
