"""A network as a picture: text for a terminal, SVG for a page.

labels      what is written at an operator
text        the streams as trees, what is shared drawn once
layers      where boxes and edges go, from left to right
drawing     the SVG elements of boxes and edges
svg         the whole picture
"""

from penstock.network.render.svg import svg
from penstock.network.render.text import text, trees

__all__ = ["svg", "text", "trees"]
