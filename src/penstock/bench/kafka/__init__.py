"""A broker of one's own, for benchmarks, examples and tests: jars by Maven, and a process."""
