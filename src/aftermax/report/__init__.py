"""The report: an audit as one HTML file that a colleague can open. It needs no network and no other file."""

from aftermax.report._page import html_report, write_report
from aftermax.report.check_page import check_html, write_check

__all__ = ["check_html", "html_report", "write_check", "write_report"]
