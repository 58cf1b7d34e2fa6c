"""What is asked: operators, the graph of them, CQL."""
