"""Apache Airflow provider that keeps a pair of Kafka clusters ready for disaster."""
