"""Optimizing: try a change, measure it, keep or undo it, and show the result."""
