"""The report: an audit as one HTML file that a colleague can open. It needs no network and no other file."""

from aftermax.report._page import html_report, write_report

__all__ = ["html_report", "write_report"]
