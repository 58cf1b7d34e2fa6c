"""A stream system in virtual time: operators, queues, a scheduler, arrivals. No Spark."""
