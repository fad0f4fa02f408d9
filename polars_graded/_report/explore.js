// Some of the queries: a rectangle in any view, or two differences, and the means of what they hold.

// The smallest of 1, 2 and 5 times a power of ten that is at least this, and the ends of an axis.
const roundStep = (least) => {
  if (!(least > 0)) return 0.02;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((step) => step * power >= least) * power;
};
const roundEnds = (numbers, steps = 5) => {
  const [lowest, highest] = [Math.min(...numbers), Math.max(...numbers)];
  const step = roundStep((highest - lowest) / steps);
  const low = Math.floor(lowest / step + 1e-9) * step;
  return [low, Math.max(low + step, Math.ceil(highest / step - 1e-9) * step)];
};

// At most so many of the queries, in equal steps of their difference.
const explored = () => {
  const all = differences();
  const n = Math.min(all.length, page.mostBars);
  return Array.from({ length: n }, (_, i) => all[Math.round((i * (all.length - 1)) / Math.max(1, n - 1))]);
};

// Each query with its values, its place by falling difference, and its place in a bin.
const exploredRows = (some, a, b) => {
  const { measure } = state;
  const [down, up] = roundEnds([...some.map(({ difference }) => difference), 0]);
  const width = roundStep((up - down) / Math.min(40, 10 + Math.floor(Math.sqrt(some.length))));
  const colours = twoColours(a, b);
  const full = new Map();
  const rows = some.map(({ query, difference }, i) => {
    const side = difference === 0 ? null : difference * sign(measure) > 0 ? 0 : 1;
    return {
      query: asDrawn(queries[query]),
      value_a: valueOf(measure, a, query),
      value_b: valueOf(measure, b, query),
      difference,
      better: side === null ? null : "AB"[side],
      colour: colours[side] ?? null,
      position: i + 1,
      middle: Math.round(difference / width) * width,
    };
  });
  for (const row of rows.toReversed()) full.set(row.middle, (row.place = (full.get(row.middle) ?? 0) + 1));
  const fullest = Math.max(...full.values());
  const [lowest, highest] = roundEnds(rows.flatMap((row) => [row.value_a, row.value_b]));
  const seam = fullest / 260;
  const piece = Math.max(1, (290 * width) / (up - down + width) - 1);
  const words = { lowest, highest, down: down - width / 2, up: up + width / 2, fullest, total: rows.length, piece };
  return [rows, { ...words, seam: seam < 0.15 ? 1 : 1 + seam, bar: Math.max(1, 660 / rows.length - 1) }];
};

// The means and intervals that the chart has made of the queries that are chosen, in a sentence.
const sayChosen = (total) => {
  const printed = [...document.querySelectorAll("#explore svg.marks text")].map((text) => text.textContent);
  const mean = (what) => printed.find((text) => text.startsWith(`${what}   `))?.slice(what.length).trim().replace(/ +/, " ");
  const [a, b, minus] = ["A", "B", "A - B"].map(mean);
  const [n] = printed.find((text) => text.endsWith(` of ${total} queries`))?.split(" ") ?? ["0"];
  $("#explore .chosen").textContent =
    `${n} of ${nQueries(total)} ${n === "1" ? "is" : "are"} chosen` +
    (minus ? `: the mean of A is ${a}, that of B ${b}, and that of the difference ${minus}, with 95 % intervals.` : ".");
};

const showExplore = () => {
  const within = $("#explore");
  const [a, b] = sides();
  const { name } = measures[state.measure];
  const some = explored();
  $("h2", within).textContent = `Some queries: ${strategies[a]} against ${strategies[b]}`;
  for (const part of [".note", ".chosen", ".legend"]) $(part, within).hidden = !some.length;
  if (!say(within, some.length ? null : "There is no query in which all strategies have a value.")) return;
  const all = differences().length;
  $(".note", within).textContent =
    `A rectangle drawn in any of the views chooses queries, and a click beside it all of them; so do differences of ${name} that are typed. Means and intervals are of those.` +
    (all > some.length ? ` Of ${nQueries(all)}, ${some.length} are here, in equal steps of their difference.` : "");
  const colours = twoColours(a, b);
  $(".legend", within).replaceChildren(...[a, b].map((s, i) => element("li", [sample({ colour: colours[i], dash: [1, 0] }), `${"AB"[i]}: ${strategies[s]}`])));
  const [rows, words] = exploredRows(some, a, b);
  const ends = [["least", -1e300], ["greatest", 1e300]];
  const typed = Object.fromEntries(ends.map(([id, none]) => [id, $(`#${id}`).value === "" ? none : Number($(`#${id}`).value)]));
  const after = (view) => {
    sayChosen(rows.length);
    const again = () => setTimeout(() => sayChosen(rows.length)); // what is printed has changed by then
    if (view.says) return;
    view.says = true;
    for (const signal of ["brush_explored", "least", "greatest"]) view.addSignalListener(signal, again);
  };
  const said = `A is ${strategies[a]}, B is ${strategies[b]}: ${nQueries(rows.length)} as points of A against B, as a histogram of their differences, and as bars by falling difference; the means of those that are chosen stand above the chart.`;
  // A rectangle is of the queries that it was drawn over: with others the chart is made anew.
  draw($(".chart", within), { key: `${state.measure} ${a} ${b}`, spec: specs.explore, rows, said, signals: { ...words, ...typed }, after });
};
