"""Drills: the whole way of a failover on throw-away topics beside a real flow, with everything measured."""
