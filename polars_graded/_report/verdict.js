// What the numbers say: who leads, what there was to measure, how sure the order is.

const showVerdict = () => {
  const within = $("#verdict");
  within.hidden = !measures.length;
  if (measures.length) $("p", within).replaceChildren(...sentence(measures[state.measure].verdict));
};

const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

const showOverview = () => {
  const within = $("#overview");
  within.hidden = !page.overview;
  if (!page.overview) return;
  const { columns, rows, note } = page.overview;
  const forms = {
    count: (n) => (n === null ? "–" : String(n)),
    share: percent,
    grades: (grades) => (grades ?? []).map(([grade, n]) => `${grade ?? "unjudged"}: ${n}`).join(" · "),
  };
  $(".note", within).textContent = note;
  // What is the same of all strategies is said once.
  const same = columns.map((_, i) => rows.every((row) => JSON.stringify(row[i + 1]) === JSON.stringify(rows[0][i + 1])));
  const shown = (row, i) => forms[columns[i][1]](row[i + 1]);
  const all = [...columns.keys()].filter((i) => same[i]);
  definitions($("dl", within), all.map((i) => [columns[i][0], shown(rows[0], i)]));
  const apart = [...columns.keys()].filter((i) => !same[i]);
  $(".all", within).hidden = !all.length;
  $(".all p", within).hidden = rows.length < 2;
  $(".scroll", within).hidden = !apart.length;
  const head = ["Strategy", ...apart.map((i) => columns[i][0])].map((name) => element("th", name, { scope: "col" }));
  const body = rows.map((row) => {
    const name = row[0] ?? "null";
    return element("tr", [
      element("th", element("span", name, { class: name.length > 20 ? "long name" : "name" }), { scope: "row" }),
      ...apart.map((i) => element("td", shown(row, i), columns[i][1] === "grades" ? { class: "text" } : {})),
    ]);
  });
  table(within, "What was ranked and judged", element("tr", head), body);
};
const overviewNumbers = () => [
  ["strategy", ...page.overview.columns.map(([name]) => name)],
  ...page.overview.rows.map((row) => row.map((value) => (Array.isArray(value) ? value.map((pair) => pair.join(": ")).join("; ") : value))),
];

const showCertainty = () => {
  const within = $("#certainty");
  within.hidden = !page.certainty.length;
  if (!page.certainty.length) return;
  const needed = (n) => (n === null ? "more than there are" : n.toLocaleString("en"));
  const [power, share] = [page.power, page.share].map((each) => `${Math.round(100 * each)} %`);
  const columns = ["Measure", "Queries", "Smallest difference shown", `${share} of the best mean`, "Queries to show that", "Pairs told apart", "Order from half the queries"];
  const mine = page.certainty.find(({ measure }) => measure === state.measure);
  $(".note", within).textContent = mine
    ? `With ${nQueries(mine.queries)}, ${measures[mine.measure].name} shows a difference of ${written(mine.smallest)} or more with a probability of ${power}${mine.step === null ? " " : "; "}` +
      `${mine.step === null ? "" : `one of ${written(mine.step)}, ${share} of the best mean, takes ${needed(mine.needed)} queries `}(paired t test of one pair at ${page.alpha}, with the variance that these strategies have). ` +
      `${mine.apart} of ${counted(mine.pairs, "pair is", "pairs are")} told apart, ${page.corrected} ≤ ${page.alpha}.` +
      (mine.stability ? " The last column is Kendall's τ between the order from half of the queries and that from all, and where 95 % of such halves lie." : "")
    : `There is nothing to say of ${measures[state.measure]?.name}: it does not vary, or has no better side.`;
  const head = columns.map((name, i) => element("th", name, { scope: "col", ...(i ? {} : { class: "text" }) }));
  const body = page.certainty.map((row) =>
    element("tr", [
      element("th", measures[row.measure].name, { scope: "row" }),
      ...[row.queries, written(row.smallest), written(row.step), row.step === null ? "–" : needed(row.needed), `${row.apart} of ${row.pairs}`,
        row.stability ? `${row.stability[0].toFixed(2)} (${row.stability[1].toFixed(2)} to ${row.stability[2].toFixed(2)})` : "–"]
        .map((text) => element("td", String(text).replaceAll("-", "\u2212"))),
    ], row.measure === state.measure ? { class: "chosen" } : {}));
  table(within, "How sure the order is", element("tr", head), body);
};
const certaintyNumbers = () => [
  ["measure", "queries", "smallest_difference", "difference", "queries_needed", "told_apart", "pairs", "tau", "tau_low", "tau_high"],
  ...page.certainty.map((row) => [
    measures[row.measure].name, row.queries, row.smallest, row.step, row.needed, row.apart, row.pairs, ...(row.stability ?? [null, null, null]),
  ]),
];
