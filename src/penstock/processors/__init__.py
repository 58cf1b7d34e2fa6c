"""What a stateful processor keeps and does, on arrays and without Spark."""
