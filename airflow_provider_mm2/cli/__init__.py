"""The command line: `mm2`, the same flow as the operators, without Airflow."""
