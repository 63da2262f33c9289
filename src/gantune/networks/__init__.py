"""The networks: one file a family, all behind one contract."""
