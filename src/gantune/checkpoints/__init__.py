"""Checkpoints of every format, read without running any code in them."""
