// The first documents of both strategies in the query that is chosen, where the page has them.

const showDocuments = () => {
  const within = $("#documents");
  within.hidden = !rankings;
  if (!rankings) return;
  const { query } = state;
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const names = both.map((s) => strategies[s]);
  $("h2", within).textContent = `Documents: ${names.join(" and ")}${query === null ? "" : ` in query ${queries[query]}`}`;
  const place = query === null ? -1 : rankings.there.indexOf(query);
  const few = rankings.there.length < queries.length ? ` The page has those of ${nQueries(rankings.there.length)}, at equal steps in their order.` : "";
  $(".note", within).textContent =
    query === null
      ? `Choose a query to see the first ${rankings.ranks} documents that each strategy has for it.${few}`
      : place < 0
        ? `The page does not have the documents of this query.${few}`
        : `The first ${rankings.ranks} documents${both.length > 1 ? " of each" : ""} and their grades, – where one was not judged` +
          (both.length > 1 ? "; beside each its rank with the other strategy, – where that has it further down or not at all." : ".") +
          (strategies.length > 1 ? " Below the line of the picture are relevant documents that another strategy has among these." : "");
  $(".scroll", within).hidden = place < 0;
  for (const row of within.querySelectorAll(".save")) row.hidden = place < 0;
  $("figure", within).hidden = place < 0;
  if (place < 0) {
    $(".wide", within).hidden = true;
    return;
  }
  const { documents, ranked: lists } = rankings.entries[place];
  const shown = both.map((s) => lists[s] ?? []);
  const n = Math.max(1, ...shown.map((list) => list.length));
  const head = [element("th", "Rank", { scope: "col", rowspan: 2 })];
  const below = [];
  both.forEach((s, i) => {
    const label = both.length > 1 ? `${"AB"[i]}: ` : "";
    head.push(element("th", [label, called(s)], { scope: "colgroup", colspan: both.length > 1 ? 3 : 2, class: "text" }));
    below.push(element("th", "document", { scope: "col", class: "text" }), element("th", "grade", { scope: "col" }));
    if (both.length > 1) below.push(element("th", `rank in ${"BA"[i]}`, { scope: "col" }));
  });
  const most = Math.max(0, ...documents.map((document) => document.at(-1)));
  const rows = Array.from({ length: n }, (_, rank) => {
    const cells = shown.flatMap((list, i) => {
      const at = list[rank];
      if (at === undefined) return Array.from({ length: both.length > 1 ? 3 : 2 }, () => element("td", ""));
      const [name, ...rest] = documents[at];
      const grade = rest.at(-1);
      const title = rest.length > 1 ? [element("small", rest[0], { class: "title" })] : [];
      const other = both.length > 1 ? shown[1 - i].indexOf(at) : -1;
      // The higher the grade, the more of its field is filled.
      const filled = grade > 0 && most > 0 ? { style: `--share: ${Math.round((100 * grade) / most)}%` } : {};
      return [
        element("td", [element("span", name, { class: "document" }), ...title], { class: "text" }),
        element("td", grade === null ? "–" : String(grade), { class: "grade", ...filled }),
        ...(both.length > 1 ? [element("td", other < 0 ? "–" : String(other + 1))] : []),
      ];
    });
    return element("tr", [element("th", String(rank + 1), { scope: "row" }), ...cells]);
  });
  table(within, "Documents side by side", [element("tr", head), element("tr", below)], rows);
  showTiles(rankings.entries[place], both);
};

// The same as tiles in the colours of their grades, joined by lines: a picture of the table below it.
const showTiles = ({ documents, ranked: lists, ideal }, both) => {
  const { ranks, irrelevant, levels, below } = rankings;
  const gradeOf = (at) => documents[at].at(-1);
  const relevant = (at) => gradeOf(at) !== null && gradeOf(at) > irrelevant;
  const adds = (at, rank) => (ideal ? (2 ** Math.max(0, (gradeOf(at) ?? irrelevant) - irrelevant) - 1) / Math.log2(rank + 1) / ideal : 0);
  const tiles = [];
  const heads = both.map((s, column) => {
    const list = lists[s] ?? [];
    const added = list.map((at, i) => adds(at, i + 1));
    const value = added.reduce((sum, each) => sum + each, 0);
    const missed = [...documents.keys()].filter((at) => relevant(at) && !list.includes(at)).sort((x, y) => gradeOf(y) - gradeOf(x) || x - y);
    const tile = (at, y, more) => {
      const [name, ...rest] = documents[at];
      const grade = gradeOf(at);
      const level = grade === null ? "unjudged" : levels.find(([end]) => grade <= end)[1];
      const title = rest.length > 1 ? { title: rest[0] } : {};
      tiles.push({ part: "document", strategy: strategies[s], column, y, doc: name, name: title.title ?? name, grade, level, relevant: relevant(at), ...title, ...more });
    };
    list.forEach((at, i) => tile(at, i + 1, { rank: i + 1, adds: added[i], share: value > 0 ? added[i] / value : null }));
    missed.slice(0, below).forEach((at, i) => tile(at, ranks + 2 + i, { rank: null, adds: null, share: null, label: "below" }));
    return { part: "strategy", strategy: strategies[s], column, value, label: `ndcg@${ranks} ${value.toFixed(4)}`, below: missed.length, colour: looks[s].colour };
  });
  const lines = tiles.filter(({ column }) => column === 0).flatMap(({ part, ...tile }) => {
    const same = tiles.find((other) => other.column === 1 && other.doc === tile.doc);
    return same ? [{ ...tile, part: "line", y_next: same.y }] : [];
  });
  const most = Math.max(1e-9, ...tiles.map((tile) => tile.adds ?? 0));
  const form = heads.some((head) => head.below) ? "below" : "top";
  const ends = heads.map((head, i) => `${both.length > 1 ? `${"AB"[i]}, ` : ""}${head.strategy}, has ${head.label}`);
  const said = `${ends.join("; ")}. Each document is a tile in the colour of its grade, and a line joins it to itself; the table below has them all.`;
  draw($("#documents .chart"), { key: form, spec: specs.tiles[form], rows: [...heads, ...tiles, ...lines], said, signals: { most } });
};
const documentNumbers = () => {
  const place = rankings.there.indexOf(state.query);
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const { documents, ranked: lists } = rankings.entries[place];
  return [
    ["strategy", "rank", "document", ...(documents[0]?.length > 2 ? ["title"] : []), "grade"],
    ...both.flatMap((s) => (lists[s] ?? []).map((at, rank) => [strategies[s], rank + 1, ...documents[at]])),
  ];
};
