"""The network as Spark DataFrames."""
