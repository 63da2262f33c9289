"""The C++ forms of the operations: sources, loader and the structures between."""
