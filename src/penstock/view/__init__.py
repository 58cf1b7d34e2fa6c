"""A run as people look at it: in the terminal, on a page, as a report, as pictures and metrics."""
