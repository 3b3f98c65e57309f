"""An in-memory pair of Kafka clusters behind the Protocols of ``clusters/ports.py``, without threads or sleeps."""
