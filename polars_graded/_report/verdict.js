// Shows the verdict, the measured data, the certainty of the order, and the similarity of rankings.

const showVerdict = () => {
  // A sentence consists of texts and indices of strategies.
  const sentence = seen.measure.verdict.map((part) =>
    typeof part === "string" ? part : element("span", marked(part), { class: "strategy" }));
  // Tests and intervals cover all pairs, not only those of chosen strategies.
  const left = strategies.length - state.chosen.size;
  const gone = `including the ${amount(left)} that ${left === 1 ? "is" : "are"} not chosen: `;
  const whose = left ? `For all ${amount(strategies.length)} strategies, ${gone}` : "";
  $("#verdict p").replaceChildren(whose, ...sentence);
};

const showOverview = () => {
  const { columns, mostTies, rows } = page.overview;
  const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);
  const forms = {
    count: (n) => String(n ?? "–"),
    share: percent,
    ties: percent,
    grades: (all) => (all ?? []).map(([grade, n]) => `${grade ?? "unjudged"}: ${n}`).join(" · "),
  };
  // A value that all strategies share is stated once, but saved for each.
  const found = columns.map(([name, form], i) => {
    const value = (row) => row[i + 1];
    const same = rows.every((row) => String(value(row)) === String(value(rows[0])));
    const cell = (row) => (form === "ties" && value(row) > mostTies ? { class: "alarm" } : {});
    return column(name, same ? undefined : name, forms[form], { value, look: form, cell });
  });
  const same = found.filter(({ title }) => title === undefined);
  const item = ({ name, value, form, cell }) =>
    element("div", [element("dt", name), element("dd", form(value(rows[0])), cell(rows[0]))]);
  $("#overview dl").replaceChildren(...same.map(item));
  const strategy = column("strategy", "Strategy", named, { value: ([name]) => name ?? "null" });
  table("overview", [strategy, ...found], rows);
};

const showCertainty = () => {
  const mine = ({ measure }) => measure === seen.measure.name;
  $("#certainty .note span").textContent = page.certainty.find(mine)?.note ?? "";
  const needed = (n, row) => (row.difference === null ? "–" : amount(n) ?? "more than there are");
  const short = (number) => minus(number.toFixed(2));
  const tau = (mean, { tau_low: low, tau_high: high }) =>
    mean === null ? "–" : `${short(mean)} (${short(low)} to ${short(high)})`;
  const columns = [
    column("measure", "Measure"),
    column("queries", "Queries"),
    column("smallest_difference", "Smallest difference shown", written),
    column("difference", `${page.share} of the best mean`, written),
    column("queries_needed", "Queries to show that", needed),
    column("significant_pairs", "Pairs distinguished", (n, { pairs }) => `${n} of ${pairs}`),
    column("pairs"),
    column("tau", "Order from half the queries", tau),
    column("tau_low"),
    column("tau_high"),
  ];
  table("certainty", columns, page.certainty, (row) => (mine(row) ? { class: "chosen" } : {}));
};

const showSimilarity = () => {
  const side = (name, title) => column(name, title, (_, row) => marked(row[name]), {
    value: (row) => strategies[row[name]],
    look: "text",
  });
  table("similarity", [
    side("strategy", "Strategy"),
    side("other", "Compared with"),
    column("overlap@10", "Overlap of the first ten", written, { value: ({ overlap }) => overlap }),
    column("rbo", "Rank-biased overlap", written),
  ], page.similarity.rows);
};

const showSegments = () => {
  const { title, measures: all } = page.segments;
  const { note, rows } = all[state.measure];
  $("#segments .note").textContent = `${seen.measure.name}, the best of each row in bold. ${note}`;
  const ofStrategy = (name, s) => column(name, called(s), written, {
    value: ({ means }) => means[s],
    cell: ({ best_strategies: best }) => ({ class: best.includes(s) ? "best" : "" }),
  });
  const segment = column(title, title, named, { value: ({ name }) => name });
  const count = column("queries", "Queries", amount);
  table("segments", [segment, count, ...strategies.map(ofStrategy)], rows);
};
