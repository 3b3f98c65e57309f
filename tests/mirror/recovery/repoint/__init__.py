"""Tests of the repointers, with real files, HTTP and TLS."""
