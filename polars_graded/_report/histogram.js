// Shows by how much one strategy is better than another, with one bar per query.

// Returns the queries by descending difference; those without one keep their order.
const differences = () => {
  if (!comparable) return queries.map((_, at) => ({ at }));
  const { measure } = state;
  const { rounding } = seen.measure;
  const whole = (at) => strategies.every((_, s) => !Number.isNaN(valueOf(measure, s, at)));
  const rows = [...queries.keys()].filter(whole).map((at) => {
    const [value_a, value_b] = seen.both.map((s) => valueOf(measure, s, at));
    // Values are rounded to 24 bits, so numbers that differ only in the last bit count as equal.
    const difference = Math.abs(value_a - value_b) <= rounding ? 0 : value_a - value_b;
    const side = difference === 0 ? null : Number(difference * sign(measure) < 0);
    const [better, colour] = [seen.names[side] ?? null, seen.colours[side] ?? null];
    return { at, value_a, value_b, difference, side, better, colour };
  });
  rows.sort((x, y) => y.difference - x.difference || x.at - y.at);
  return rows.map((row, i) => {
    const drawn = { query: asDrawn(queries[row.at]), queries: 1, position: i + 1, last: i + 1 };
    return { ...row, ...drawn };
  });
};

const NONE = "There is no query in which all strategies have a value.";
const showHistogram = () => {
  const { names, rows, measure: { name } } = seen;
  const wins = [0, 1].map((side) => rows.filter((row) => row.side === side).length);
  const ties = counted(rows.length - wins[0] - wins[1], "tie", "ties");
  $("#histogram h2").textContent = `Query by query: ${names.join(" against ")}`;
  $("#histogram .note").textContent = "";
  if (say("histogram", rows.length ? "" : NONE)) return;
  const headline = `${name} of ${names[0]} minus that of ${names[1]}`;
  const lower = sign(state.measure) < 0 ? " Lower is better." : "";
  const those = queries.length < page.total ? `Of the ${nQueries(queries.length)} here, ` : "";
  const [most, fewer] = [nQueries(wins[0]), amount(wins[1])];
  const won = `${names[0]} is better in ${most}, ${names[1]} in ${fewer}, ${ties}`;
  const counts = `${headline}, one bar per query.${lower} ${those}${won}. `;
  const here = rows.find(({ at }) => at === state.query);
  const difference = here
    ? `${written(here.value_a)} − ${written(here.value_b)} = ${signed(here.difference)}`
    : "left out, since a strategy has no value";
  const value = state.query === null ? "" : `Query ${seen.query}: ${difference}.`;
  $("#histogram .note").textContent = counts + value;
  legendOfBoth("histogram", names.map((name, i) => `${name} is better in ${amount(wins[i])}`));
  const key = rows.length > page.mostNamed ? "placed" : "named";
  const longest = Math.max(...rows.slice(0, page.mostNamed).map(({ query }) => query.length));
  // A click above or below a bar chooses its query too, so that ties and thin bars can be hit.
  const holder = $("#histogram .chart");
  const click = ({ clientX, clientY }) => {
    const { left, top } = $("svg.marks", holder).getBoundingClientRect();
    const [x, y] = holder.view.origin();
    const place = Math.floor(((clientX - left - x) / holder.view.width()) * rows.length);
    if (clientY >= top + y && rows[place]) change({ query: rows[place].at });
  };
  const signals = { place: here?.position ?? 0, longest, headline };
  const inWords = (row) => `${signed(row.difference)} in query ${row.query}`;
  const description = `${counts}From ${inWords(rows[0])} to ${inWords(rows.at(-1))}.`;
  draw(holder, { key, spec: specs.bars[key], rows, description, signals, click });
  keepRows("histogram", [
    { name: "query", value: ({ at }) => queries[at] },
    { name: `${name} of ${names[0]}`, value: (row) => row.value_a },
    { name: `${name} of ${names[1]}`, value: (row) => row.value_b },
    column("difference"),
  ], rows);
};
