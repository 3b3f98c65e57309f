"""MirrorMaker 2 on Kafka Connect: a flow as connectors, and the REST interface that runs them."""
