"""``make demo``: a year of real records, two real Kafka clusters, a real Airflow, and a count of every record."""
