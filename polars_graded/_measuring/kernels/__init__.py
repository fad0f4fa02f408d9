"""The formulas, one module per family: NumPy over flat arrays, one value or list per query.

A kernel takes `Queries` and the checked options of its measure. Its value for a query without a
relevant document does not matter; whoever calls it puts in what such a query gets.
"""
