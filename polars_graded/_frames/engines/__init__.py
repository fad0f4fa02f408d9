"""Engines that spread a frame over many machines.

An engine is a module with `evaluate_rows(request, frame)`. This function puts all rows of a query
into the same bucket, and calls `arrow.Worker` once per bucket. The function returns the values as a
frame of the engine. With several graders, the function is called once per grader. The returned
frames must have a method `union`, which concatenates them.

`find_engine` (in `_door`) imports an engine for a frame of the engine.
"""
