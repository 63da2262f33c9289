"""One file an engine: each opens an artifact's entry file and runs it on numpy arrays."""

from gantune.runtime.engines.catalogue import open_session
from gantune.runtime.engines.session import Session

__all__ = ["Session", "open_session"]
