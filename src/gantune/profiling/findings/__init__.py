"""What is slow, and what it would gain: one rule a file, ranked by the share of wall time a cause costs."""

from gantune.profiling.findings.catalogue import RULES, diagnose, rank

__all__ = ["RULES", "diagnose", "rank"]
