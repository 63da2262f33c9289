"""Profiling: where the time of a network goes."""
