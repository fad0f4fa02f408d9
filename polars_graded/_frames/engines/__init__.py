"""Engines that spread a frame over many machines.

An engine is a module with two functions. `read_schema(frame)` returns the columns with the data
types of Polars. `evaluate_rows(request, frame)` returns the values as a frame of the engine:

- `arrow.build_result_schema` checks the request and returns the schema of the result;
- all rows of a query go into the same bucket, with the columns `request.needed_columns` in this
  order, and `arrow.Worker` measures each bucket.

With several graders, it is called once per grader. The returned frames must have a method `union`,
which concatenates them. `find_engine` (in `_door`) imports an engine by the class of the frame, and
`as_polars` there converts such a frame for functions that an engine does not run.
"""
