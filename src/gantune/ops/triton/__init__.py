"""The Triton forms' shared parts: kernels, launch plans and the operators that autograd and compilers see.

Only the files called `*_kernel.py` import triton, and they are imported when a kernel first runs.
"""
