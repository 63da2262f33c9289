"""The modules that `gantune.ops.install` puts in place of those of a checkout's `torch_utils.ops`.

Each file here has the name, the functions and the argument order of the module it replaces; `__all__` lists
what is replaced.
"""
