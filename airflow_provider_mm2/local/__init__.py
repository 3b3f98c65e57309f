"""A pair of real Kafka clusters on this machine, for trying things out, the demo, the tests and the benchmarks."""
