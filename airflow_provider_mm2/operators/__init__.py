"""Operators: they translate a task of Airflow into one call of the mirror, and its result back."""
