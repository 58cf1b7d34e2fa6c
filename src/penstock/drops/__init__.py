"""How to drop: at random with error bounds, or by whole windows with none wrong. No Spark."""
