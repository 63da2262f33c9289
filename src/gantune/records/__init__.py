"""Records: everything that is written to disk, as frozen values that go to and from JSON."""
