"""Kernels of the measures, one module per family: NumPy over flat arrays.

A kernel takes `Queries` and the checked options of its measure, and returns one value or list per
query. Its value for a query without a relevant document does not matter: the caller replaces it by
the fill value.
"""
