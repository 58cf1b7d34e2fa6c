"""Nodes on Spark and Kafka: the edge of `penstock.fleet`.

bus          the control topic
links        what enters a node, what leaves it, and by which columns
relay        boxes without windows: topic ─► gate ─► query ─► topic
answering    boxes with windows: topic ─► network ─► sink
node         all of a node, watched while it runs
"""
