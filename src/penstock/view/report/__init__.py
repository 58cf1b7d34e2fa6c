"""The report of a run: a page that needs no network, a summary, pictures, every batch."""

from penstock.view.report.write import write_report

__all__ = ["write_report"]
