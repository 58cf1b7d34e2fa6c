"""Many nodes: where a chain or tree of jobs sheds on behalf of the jobs downstream. No Spark."""
