"""Where to drop: the plan with the smallest loss, from statistics and a load. No Spark."""
