"""Feasible input tables (§6): what each site can take, told from the leaves to the root."""
