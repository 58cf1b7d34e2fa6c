"""`penstock doctor`: what would keep a network from running, and how to mend it."""
