"""What docs/how-to shows as code, so that tests can run it."""
