"""Kernels of the measures, one module per family: NumPy over flat arrays.

The kernel of a measure takes `Queries` (or a `ListPair`, for two rankings) and checked options, and
returns one value or list per query. If the measure needs a relevant document, the caller puts the
fill value in place of the kernel's values for queries without one.
"""
