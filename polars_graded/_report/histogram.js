// Query by query: by how much one strategy is better than another, one bar per query.

// The queries by falling difference, and where they have none in their own order.
const differences = () => {
  if (!comparable) return queries.map((_, query) => ({ query, difference: 0 }));
  const { measure } = state;
  const [a, b] = sides();
  const rows = [];
  let largest = 0;
  for (let query = 0; query < queries.length; query += 1) {
    const [x, y] = [valueOf(measure, a, query), valueOf(measure, b, query)];
    largest = Math.max(largest, Math.abs(x) || 0, Math.abs(y) || 0);
    if (whole[measure][query]) rows.push({ query, difference: x - y });
  }
  // Values are rounded to 24 bits: what differs in the last of them is the same number.
  for (const row of rows) if (Math.abs(row.difference) <= largest * 2 ** -22) row.difference = 0;
  for (const row of rows) row.side = row.difference === 0 ? null : row.difference * sign(measure) > 0 ? 0 : 1;
  return rows.sort((x, y) => y.difference - x.difference || x.query - y.query);
};

// The colours of two strategies, which among many can be the same.
const twoColours = (a, b) => {
  const colours = [a, b].map((side) => look(side).colour);
  if (colours[0] === colours[1]) colours[1] = looks.map(({ colour }) => colour).find((each) => each !== colours[0]);
  return colours;
};

const showSides = (within, labels, colours) =>
  $(".legend", within).replaceChildren(...labels.map((label, i) => element("li", [sample({ colour: colours[i], dash: [1, 0] }), label])));

const showHistogram = () => {
  const within = $("#histogram");
  const { measure, query } = state;
  const both = sides();
  const sorted = differences();
  const names = both.map((side) => strategies[side]);
  const wins = [0, 1].map((side) => sorted.filter((row) => row.side === side).length);
  const ties = sorted.length - wins[0] - wins[1];
  const { name } = measures[measure];
  const here = sorted.find((row) => row.query === query);
  const lower = sign(measure) < 0 ? " Lower is better." : "";
  $("h2", within).textContent = `Query by query: ${names[0]} against ${names[1]}`;
  if (!say(within, sorted.length ? null : "There is no query in which all strategies have a value.")) {
    $(".note", within).textContent = "";
    return;
  }
  const headline = `${name} of ${names[0]} minus that of ${names[1]}`;
  const counts =
    `${headline}, one bar per query.${lower} ` +
    `${queries.length < page.total ? `Of the ${nQueries(queries.length)} here, ` : ""}${names[0]} is better in ${nQueries(wins[0])}, ${names[1]} in ${amount(wins[1])}, ${counted(ties, "tie", "ties")}. `;
  $(".note", within).textContent =
    counts +
    (query === null
      ? "Click on a bar, or above or below it, to see its query everywhere; Previous and Next go from bar to bar."
      : `Query ${queries[query]}: ${here ? `${both.map((side) => written(valueOf(measure, side, query))).join(" − ")} = ${signed(here.difference)}` : "left out, for a strategy has no value"}.`);
  const colours = twoColours(...both);
  showSides(within, names.map((name, i) => `${name} is better in ${amount(wins[i])}`), colours);
  const rows = sorted.map(({ query: q, difference, side }, i) => ({
    position: i + 1,
    last: i + 1,
    query: asDrawn(queries[q]),
    queries: 1,
    difference,
    better: side === null ? null : asDrawn(names[side]),
    colour: colours[side] ?? null,
  }));
  // A letter has about seven pixels.
  const longest = Math.max(...rows.slice(0, page.mostNamed).map((row) => row.query.length));
  const fits = longest * 7 < (within.clientWidth - 60) / rows.length;
  const form = sorted.length > page.mostNamed ? "placed" : fits ? "upright" : "turned";
  // A click chooses the query below or above which it is, so that ties and thin bars can be hit.
  const click = (view, event) => {
    const { left, top } = $("svg.marks", within).getBoundingClientRect();
    const [x, y] = [event.clientX - left - view.origin()[0], event.clientY - top - view.origin()[1]];
    const place = Math.floor((x / view.width()) * sorted.length);
    if (y >= 0 && place >= 0 && place < sorted.length) change({ query: sorted[place].query });
  };
  const words = { beyond: sorted.length + 0.5, place: sorted.indexOf(here) + 1, names: rows.map((row) => row.query), headline };
  const [highest, lowest] = [sorted[0], sorted.at(-1)].map((row) => `${signed(row.difference)} in query ${queries[row.query]}`);
  const said = `${counts}From ${highest} to ${lowest}.`;
  draw($(".chart", within), { key: form, spec: specs.bars[form], rows, said, signals: words, click });
  const columns = both.map((side) => ({ name: `${name} of ${strategies[side]}`, value: (row) => valueOf(measure, side, row.query) }));
  keepRows("histogram", [{ name: "query", value: (row) => queries[row.query] }, ...columns, { name: "difference", value: (row) => row.difference }], sorted);
};
