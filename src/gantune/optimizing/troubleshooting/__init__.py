"""Troubleshooting: conversion failed, not faster, quality dropped; each leaf is a check that is run."""

from gantune.optimizing.troubleshooting.diagnose import diagnose
from gantune.optimizing.troubleshooting.tree import LEAVES

__all__ = ["LEAVES", "diagnose"]
