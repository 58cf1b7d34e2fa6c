"""Where to drop: the plan with the smallest loss for a network, its statistics and a load. No Spark."""
