"""A stream of packets, its windows as they arrive, and a check that they are right."""
