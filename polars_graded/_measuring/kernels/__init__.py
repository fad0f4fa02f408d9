"""Compute measures with NumPy over flat arrays, in one module per family.

The kernel of a measure takes `Queries` (or a `ListPair`, for two rankings) and checked options, and
returns one value or list per query. Some measures are undefined for a query without a relevant
document. For such a query, the caller replaces the kernel's value by a fill value.
"""
