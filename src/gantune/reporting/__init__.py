"""Records → page, text and checklist; nothing here runs a network."""

from gantune.reporting.checklist import fill_checklist
from gantune.reporting.page import render_page, write_page
from gantune.reporting.pictures import Sample
from gantune.reporting.text import plan_text, report_text

__all__ = ["Sample", "fill_checklist", "plan_text", "render_page", "report_text", "write_page"]
