"""Nodes that run: what they tell each other, and what each makes of it. No Spark, no Kafka.

    pipeline                 one file: nodes, their queries, the topics that link them
    messages                 numbered and sealed; what is damaged, stale or unknown is ignored
    statistics, plans        what is in them
    coordinator              hears nodes, solves the program, hands out plans
    member, neighbour        a node alone, with a coordinator, or among peers
    dropped                  which windows downstream will not be whole

All of these are machines without a clock or a topic of their own: both are handed to them.
"""
