"""The report: an audit as one HTML file that a colleague can open, or as a model card that goes with the head."""

from aftermax.report._card import model_card, write_card
from aftermax.report._page import html_report, write_report
from aftermax.report.check_page import check_html, write_check

__all__ = ["check_html", "html_report", "model_card", "write_card", "write_check", "write_report"]
