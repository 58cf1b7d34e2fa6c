"""The live page of a run: what a browser on this machine, or with a token, sees of it.

    browser ──► door (may it ask?) ──► site (which answer?) ──► routes ──► scene()

door        who may ask: this machine, or who has the token
site        answers requests in a thread of its own
plain       a scene as plain values, only what is new
document    the page in one piece, and what the browser lets it do
routes      the addresses of a run
charts.js   charts of batches over time, for other pages too
"""

from penstock.view.page.routes import Page, serve

__all__ = ["Page", "serve"]
