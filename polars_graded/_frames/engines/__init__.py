"""Engines that spread a frame over many machines.

An engine is a module with two functions. `read_schema(frame)` returns the columns with the data
types of Polars. `evaluate_rows(request, frame)` puts all rows of a query into the same bucket,
calls `arrow.Worker` once per bucket, and returns the values as a frame of the engine. With several
graders, it is called once per grader. The returned frames must have a method `union`, which
concatenates them.

`find_engine` (in `_door`) imports an engine for a frame of the engine.
"""
