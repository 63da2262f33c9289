"""Artifact → image, with numpy and the artifact's own engine."""
