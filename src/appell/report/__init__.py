"""Reports as one self-contained HTML page each: tables, notes, pictures and versions, nothing fetched from elsewhere.

Example:
    >>> from appell.report import Report
    >>> from appell.table import Table
    >>> page = Report("Masses", tables=(Table("Links", ("link", "mass [kg]"), (("upper", 15.78),)),)).html()
    >>> page.startswith("<!doctype html>"), "15.78" in page
    (True, True)
"""

from appell.report.page import Report
from appell.report.picture import Picture
from appell.report.versions import versions

__all__ = ["Picture", "Report", "versions"]
