// The page's state, and what each part shows of it. Every number was computed before: here rows are
// chosen and subtracted.
(async () => {
  "use strict";
  const page = JSON.parse(document.getElementById("payload").textContent);
  const { strategies, queries, measures, curves, comparison, looks, specs } = page;
  const $ = (selector, within = document) => within.querySelector(selector);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

  // What is packed: one value per measure, strategy and query; one code per strategy, query and point of a
  // curve, of which `steps` lie between the query's lowest and highest value.
  const values = measures.map((measure) => new Float32Array(bytes(measure.values)));
  const unpacked = ({ codes, low, high, lines }, there) => {
    const places = there && new Map(there.map((query, place) => [query, place]));
    const [all, lows, highs] = [new Uint16Array(bytes(codes)), ...[low, high].map((ends) => new Float32Array(bytes(ends)))];
    const points = all.length / (lines * lows.length);
    return (line, query, point) => {
      const place = places ? places.get(query) : query;
      if (place === undefined) return null;
      const code = all[((line % lines) * lows.length + place) * points + point];
      return code > page.steps ? null : lows[place] + (highs[place] - lows[place]) * (code / page.steps);
    };
  };
  for (const curve of curves) {
    curve.value = unpacked(curve.packed, curve.there);
    curve.idealValue = curve.ideal && unpacked(curve.ideal, curve.there);
  }
  const valueOf = (measure, strategy, query) => values[measure][strategy * queries.length + query];
  // A query counts in a measure where all strategies have a value, as it does in the comparison.
  const whole = values.map((all) => {
    const found = queries.map(() => true);
    all.forEach((value, i) => {
      if (Number.isNaN(value)) found[i % queries.length] = false;
    });
    return found;
  });
  const sign = (measure) => (measures[measure].best === "lowest" ? -1 : 1);
  const written = (number) =>
    number == null || Number.isNaN(number) ? "–" : number.toFixed(Math.abs(number) < 1000 ? 4 : 1).replace(/^-/, "\u2212");
  const signed = (number) => (number > 0 ? "+" : "") + written(number);
  const counted = (n, what, several) => `${n} ${n === 1 ? what : several}`;
  const nQueries = (n) => counted(n, "query", "queries");

  // Strategies by the mean of a measure, the best first.
  const ranked = (measure) => {
    const key = (s) => (measures[measure].means[s] ?? -Infinity * sign(measure)) * sign(measure);
    return strategies.map((_, s) => s).sort((s, t) => key(t) - key(s) || s - t);
  };

  const state = {
    chosen: new Set(strategies.keys()),
    query: null,
    order: 0, // the measure whose means order the strategies
    compared: 0, // the measure of the comparison
    against: -1, // the strategy that others are compared with, -1 for every pair
    measure: Math.max(0, measures.findIndex(({ name }) => name === "r_precision")),
    a: 0,
    b: 1,
    rank: 0, // the curves that are drawn
    recall: 0,
  };
  if (measures.length && strategies.length > 1) {
    const best = ranked(0);
    if (comparison.baseline !== null) state.against = comparison.baseline;
    else if (strategies.length > page.mostPairs) state.against = best[0];
    state.b = state.against < 0 || comparison.baseline === null ? best[1] : state.against;
    state.a = best.find((s) => s !== state.b);
  }

  // Parts of the page.

  const element = (tag, content = "", attributes = {}) => {
    const made = document.createElement(tag);
    made.append(...[content].flat());
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const button = (text, title, act) => {
    const made = element("button", text, { type: "button", title });
    made.addEventListener("click", act);
    return made;
  };
  // A piece of the line that a strategy has in the charts.
  const sample = ({ colour, dash }) => {
    const [picture, line] = ["svg", "line"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    const look = { x1: 0, x2: 22, y1: 6, y2: 6, stroke: colour, "stroke-width": 4, "stroke-dasharray": dash.join(" ") };
    for (const [name, value] of Object.entries(look)) line.setAttribute(name, value);
    for (const [name, value] of Object.entries({ class: "sample", viewBox: "0 0 22 12", "aria-hidden": "true" })) picture.setAttribute(name, value);
    picture.append(line);
    return picture;
  };
  // Short names stay on one line, long ones break anywhere.
  const called = (strategy) => element("span", strategies[strategy], { class: strategies[strategy].length > 20 ? "long name" : "name" });
  const options = (select, names, act) => {
    select.replaceChildren(...names.map(([value, name]) => element("option", name, { value })));
    select.addEventListener("change", () => act(Number(select.value)));
  };
  const table = (within, caption, head, rows) => {
    const focused = document.activeElement?.dataset.key;
    $("table", within).replaceChildren(
      element("caption", caption, { class: "hidden" }),
      element("thead", head),
      element("tbody", rows),
    );
    // What scrolls can be reached with the keyboard; what was focused is made anew.
    const box = $(".scroll", within);
    if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    if (focused) [...within.querySelectorAll("[data-key]")].find((made) => made.dataset.key === focused)?.focus();
  };
  const say = (within, sentence) => {
    const empty = $(".empty", within);
    empty.textContent = sentence ?? "";
    empty.hidden = !sentence;
    $("figure", within).hidden = Boolean(sentence);
    return !sentence;
  };

  // Vega keeps what it draws by name, and loses the one name that objects have for their own.
  const asDrawn = (name) => (name === "__proto__" ? "__proto__\u200b" : name);

  // A chart is embedded anew when its specification changes, and else only gets other rows.
  const embedded = new Map();
  let drawing = Promise.resolve();
  const draw = (holder, key, spec, rows, signals = {}, click = null) => {
    $("main").setAttribute("aria-busy", "true");
    const step = async () => {
      let chart = embedded.get(holder);
      if (chart?.key === key) {
        chart.view.data("rows", rows);
      } else {
        embedded.delete(holder);
        chart?.finalize();
        const embed = await vegaEmbed(holder, { ...spec, data: { name: "rows", values: rows } }, {
          actions: { export: true, source: false, compiled: false, editor: false },
          renderer: "svg",
          tooltip: { theme: "light" },
        });
        chart = { key, view: embed.view, finalize: embed.finalize };
        embedded.set(holder, chart);
        holder.view = embed.view; // for who looks into the page
      }
      // The whole plot is clicked on, not what is drawn there alone.
      holder.onclick = click && ((event) => event.target.closest("details") || click(chart.view, event));
      for (const [name, value] of Object.entries(signals)) chart.view.signal(name, value);
      await chart.view.runAsync();
    };
    // What cannot be drawn is said in its place, and keeps nothing else from being drawn.
    const fail = (error) => {
      console.error(error);
      embedded.get(holder)?.finalize();
      embedded.delete(holder);
      holder.onclick = null;
      holder.replaceChildren(element("p", `This chart could not be drawn: ${error?.message ?? error}`, { class: "failed" }));
    };
    const mine = (drawing = drawing.then(step).catch(fail).then(() => {
      if (drawing === mine) $("main").setAttribute("aria-busy", "false");
    }));
  };

  // Charts look at their width when the window changes; it changes with the tables beside them too.
  const widths = new Map();
  const observer = new ResizeObserver((entries) => {
    const changed = entries.filter(({ target, contentRect }) => widths.get(target) !== contentRect.width);
    for (const { target, contentRect } of changed) widths.set(target, contentRect.width);
    if (changed.length) window.dispatchEvent(new Event("resize"));
  });
  for (const holder of document.querySelectorAll(".chart")) observer.observe(holder);

  // On paper charts are as wide as the paper; a page is drawn there as soon as it is asked for.
  const paper = 680; // A4 and Letter, in pixels of CSS, within their margins
  const fitted = (width) => {
    for (const [holder, { view }] of embedded) {
      view.signal("width", width ?? holder.clientWidth);
      view.run();
    }
  };
  window.addEventListener("beforeprint", () => fitted(paper));
  window.addEventListener("afterprint", () => fitted(null));

  // Strategies.

  const showStrategies = () => {
    const within = $("#strategies");
    const { query } = state;
    const cell = (text, best, more = {}) => element("td", text, { ...more, class: `${more.class ?? ""}${best ? " best" : ""}`.trim() });
    const head = [element("th", "Strategy", { scope: "col", rowspan: query === null ? 1 : 2 })];
    const below = [];
    measures.forEach((measure, m) => {
      const by = button(measure.name, "Order the strategies by this measure", () => change({ order: m }));
      by.dataset.key = `order ${m}`;
      const sorted = m === state.order ? { "aria-sort": measure.best === "lowest" ? "ascending" : "descending" } : {};
      const label = [by, m === state.order ? (measure.best === "lowest" ? " ▴" : " ▾") : ""];
      head.push(element("th", label, { scope: query === null ? "col" : "colgroup", colspan: query === null ? 1 : 2, ...sorted }));
      below.push(element("th", "mean", { scope: "col" }), element("th", "query", { scope: "col", class: "query" }));
    });
    const tops = measures.map((measure, m) => {
      if (query === null || measure.best === "none") return null;
      const all = strategies.map((_, s) => valueOf(m, s, query)).filter((value) => !Number.isNaN(value));
      return all.length ? sign(m) * Math.max(...all.map((value) => sign(m) * value)) : null;
    });
    const order = measures.length ? ranked(state.order) : [...strategies.keys()];
    const rows = order.map((s) => {
      const box = element("input", "", { type: "checkbox" });
      box.checked = state.chosen.has(s);
      box.dataset.key = `strategy ${s}`;
      box.addEventListener("change", () => {
        const chosen = new Set(state.chosen);
        if (box.checked) chosen.add(s);
        else chosen.delete(s);
        change({ chosen });
      });
      const compared = strategies.length > 1 && measures.length;
      const badges = ["a", "b"].filter((side) => compared && state[side] === s);
      const marks = badges.map((side) => element("span", side.toUpperCase(), { class: "badge", title: "In the chart query by query" }));
      const label = element("label", [box, sample(looks[s]), called(s), ...marks]);
      const cells = measures.flatMap((measure, m) => {
        const margin = measure.margins[s];
        const best = measure.bests.includes(s);
        const text = written(measure.means[s]) + (best ? " *" : "");
        const interval = margin === null ? "no interval" : `± ${written(margin)}, with 95 % confidence`;
        const about = { title: `${interval}, ${nQueries(measure.queries)}` };
        if (query === null) {
          return [cell(margin === null ? text : [text, element("small", ` ±${written(margin)}`)], best, about)];
        }
        const value = valueOf(m, s, query);
        return [cell(text, best, about), cell(written(value), value === tops[m], { class: "query" })];
      });
      return element("tr", [element("th", label, { scope: "row" }), ...cells], state.chosen.has(s) ? {} : { class: "left" });
    });
    const heads = [element("tr", head), ...(query === null ? [] : [element("tr", below)])];
    table(within, "Strategies and their means", heads, rows);
    const beside = query === null ? "" : ` Beside each, the value in query ${queries[query]}.`;
    $(".note", within).textContent = measures.length
      ? `Means over the queries${query === null ? ", ± their 95 % intervals" : ""}; the best of each column marked *.${beside} ${page.missing}`
      : page.absent.measures;
    const n = state.chosen.size;
    $("#count").textContent = n === strategies.length ? "All are chosen." : `${n} of ${strategies.length} are chosen.`;
  };

  // Comparison.

  // The pairs of a measure that are shown: each from the side of the one that is compared, or where
  // that is every pair, of the one that is better.
  const pairs = () => {
    const { against, chosen } = state;
    const turned = ({ strategy, baseline, difference, low, high, wins, losses, ...same }) => ({
      ...same,
      strategy: baseline,
      baseline: strategy,
      difference: difference === null ? null : -difference,
      low: high === null ? null : -high,
      high: low === null ? null : -low,
      wins: losses,
      losses: wins,
    });
    const names = comparison.columns;
    const all = comparison.rows[state.compared].map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));
    const shown = all
      .map((row) => ((against < 0 ? row.difference * sign(state.compared) < 0 : row.strategy === against) ? turned(row) : row))
      .filter(({ strategy, baseline }) => (against < 0 ? chosen.has(baseline) : baseline === against) && chosen.has(strategy));
    return shown.sort((x, y) => (y.difference ?? -Infinity) - (x.difference ?? -Infinity) || x.strategy - y.strategy);
  };

  const showComparison = () => {
    const within = $("#comparison");
    const { query, compared, against } = state;
    const rows = pairs();
    const every = against < 0;
    const head = ["Strategy", ...(every ? ["Compared with"] : []), "Difference", "95 % interval", page.corrected, "Wins", "Ties", "Losses"];
    const heads = head.map((name, i) => element("th", name, { scope: "col", ...(i < 1 + every ? { class: "text" } : {}) }));
    if (query !== null) heads.push(element("th", "In query", { scope: "col", class: "query" }));
    const body = rows.map((row) => {
      const open = button([sample(looks[row.strategy]), called(row.strategy)], "Show these two query by query", () => {
        change({ a: row.strategy, b: row.baseline, measure: compared });
        $("#histogram").scrollIntoView({ behavior: "smooth" });
      });
      open.dataset.key = `pair ${row.strategy} ${row.baseline}`;
      const interval = row.low === null ? "–" : `${written(row.low)} to ${written(row.high)}`;
      const p = row.p === null ? "–" : row.p < 0.0001 ? "<0.0001" : row.p.toFixed(4);
      const small = row.p !== null && row.p < page.alpha;
      const cells = [signed(row.difference), interval, p, row.wins, row.ties, row.losses].map((text, i) =>
        element("td", String(text), small && i === 2 ? { class: "best" } : {}));
      const names = [element("th", open, { scope: "row" }), ...(every ? [element("td", called(row.baseline), { class: "text" })] : [])];
      if (query !== null) {
        cells.push(element("td", signed(valueOf(compared, row.strategy, query) - valueOf(compared, row.baseline, query)), { class: "query" }));
      }
      return element("tr", [...names, ...cells]);
    });
    table(within, "Differences between strategies", element("tr", heads), body);
    $(".sides", within).hidden = !rows.length;
    const empty = every ? "Choose at least two strategies to compare." : "Choose a strategy to compare.";
    if (!say(within, rows.length ? null : empty)) return;
    const drawn = rows.filter(({ difference }) => difference !== null).map((row) => ({
      measure: measures[compared].name,
      strategy: asDrawn(strategies[row.strategy]),
      baseline: asDrawn(strategies[row.baseline]),
      pair: asDrawn(strategies[row.strategy]) + (every ? ` - ${strategies[row.baseline]}` : ""),
      difference: row.difference,
      ci_low: row.low,
      ci_high: row.high,
      p_corrected: row.p,
      significance: row.p !== null && row.p < page.alpha ? "believed" : "doubted",
    }));
    // More pairs than can be named are in the table in the same order.
    const size = drawn.length > page.mostNamed ? "many" : "few";
    const words = {
      room: Math.round(within.clientWidth / 5),
      names: drawn.map(({ pair }) => pair),
      headline: `${measures[compared].name}, difference${every ? "" : ` to ${strategies[against]}`} with its 95 % interval`,
    };
    draw($("#forest"), size, specs.forest[size], drawn, words);
  };

  // Curves.

  const showCurves = (kind, title) => {
    const within = $(`#${kind}`);
    const mine = curves.filter((curve) => curve.kind === kind);
    const whose = state.query === null ? `mean over ${nQueries(mine[state[kind]]?.queries)}` : `query ${queries[state.query]}`;
    $("h2", within).textContent = mine.length ? `${title}: ${whose}` : title;
    if (!mine.length) return;
    const curve = mine[state[kind]];
    if (!say(within, state.chosen.size ? null : "Choose a strategy to draw.")) return;
    const { query } = state;
    // One ideal curve for all is drawn once.
    const first = Math.min(...state.chosen);
    const rows = [...state.chosen].flatMap((s) =>
      curve.at.map((at, point) => ({
        strategy: asDrawn(strategies[s]),
        ...looks[s],
        [kind]: at,
        value: query === null ? curve.means[s][point] : curve.value(s, query, point),
        ...(curve.ideal && (curve.ideal.lines > 1 || s === first)
          ? { ideal: query === null ? curve.ideal.means[s % curve.ideal.lines][point] : curve.idealValue(s, query, point) }
          : {}),
      })));
    const left = query !== null && curve.there && !curve.there.includes(query);
    const nothing = left ? "The page has the curves of fewer queries, this one not among them." : "There is no value to draw.";
    if (!say(within, rows.some(({ value }) => value !== null) ? null : nothing)) return;
    // The one ideal curve stands in the rows of a strategy that may have no curve itself.
    const there = rows.filter(({ value, ideal }) => value !== null || (ideal ?? null) !== null);
    draw($(".chart", within), String(state[kind]), curve.spec, there);
  };

  const showLegend = () => {
    const drawn = curves.length ? [...state.chosen].sort((s, t) => s - t) : [];
    $("#legend").replaceChildren(...drawn.map((s) => element("li", [sample(looks[s]), called(s)])));
  };

  // Query by query.

  // The queries by falling difference, and where they have none in their own order.
  const differences = () => {
    if (!measures.length || strategies.length < 2) return queries.map((_, query) => ({ query, difference: 0 }));
    const { measure, a, b } = state;
    const rows = [];
    let largest = 0;
    for (let query = 0; query < queries.length; query += 1) {
      const [x, y] = [valueOf(measure, a, query), valueOf(measure, b, query)];
      largest = Math.max(largest, Math.abs(x) || 0, Math.abs(y) || 0);
      if (whole[measure][query]) rows.push({ query, difference: x - y });
    }
    // Values are rounded to 24 bits: what differs in the last of them is the same number.
    for (const row of rows) if (Math.abs(row.difference) <= largest * 2 ** -22) row.difference = 0;
    return rows.sort((x, y) => y.difference - x.difference || x.query - y.query);
  };

  // A bar for each query; or of neighbours one above the axis and one below it, each of the mean of
  // what a side is better by.
  const sharedBars = (sorted, size, winner) => {
    const bars = [];
    for (let start = 0; start < sorted.length; start += size) {
      const all = sorted.slice(start, start + size);
      for (const side of size === 1 ? [winner(all[0])] : [0, 1]) {
        const mine = all.filter((row) => winner(row) === side);
        if (!mine.length) continue;
        const [first, last] = [mine[0], mine.at(-1)].map((row) => queries[row.query]);
        bars.push({
          position: start + 1,
          last: start + all.length,
          query: mine.length === 1 ? asDrawn(first) : `${first} … ${last}`,
          queries: mine.length,
          difference: mine.reduce((sum, row) => sum + row.difference, 0) / all.length,
          side,
        });
      }
    }
    return bars;
  };

  const showHistogram = () => {
    const within = $("#histogram");
    const { measure, a, b, query } = state;
    const sorted = differences();
    const sides = [strategies[a], strategies[b]];
    const winner = ({ difference }) => (difference === 0 ? null : difference * sign(measure) > 0 ? 0 : 1);
    const wins = [0, 1].map((side) => sorted.filter((row) => winner(row) === side).length);
    const ties = sorted.length - wins[0] - wins[1];
    const size = Math.max(1, Math.ceil(sorted.length / page.mostBars));
    const { name } = measures[measure];
    const here = sorted.find((row) => row.query === query);
    const lower = sign(measure) < 0 ? " Lower is better." : "";
    $("h2", within).textContent = `Query by query: ${sides[0]} against ${sides[1]}`;
    if (!say(within, sorted.length ? null : "There is no query in which all strategies have a value.")) {
      $(".note", within).textContent = "";
      return;
    }
    $(".note", within).textContent =
      `${name} of A minus that of B, ${size === 1 ? "one bar per query" : `one bar per ${size} queries side by side`}.${lower} ` +
      `${queries.length < page.total ? `Of the ${nQueries(queries.length)} here, ` : ""}A is better in ${nQueries(wins[0])}, B in ${wins[1]}, ${counted(ties, "tie", "ties")}. ` +
      (query === null
        ? "Click on a bar, or above or below it, to see its query everywhere."
        : `Query ${queries[query]}: ${here ? `${written(valueOf(measure, a, query))} − ${written(valueOf(measure, b, query))} = ${signed(here.difference)}` : "left out, for a strategy has no value"}.`);
    const labels = sides.map((side, i) => `${wins[i]} better with ${i ? "B" : "A"}, ${side}`);
    const colours = [a, b].map((side) => looks[side].colour);
    // Among many strategies the colours of two can be the same.
    if (colours[0] === colours[1]) colours[1] = looks.map(({ colour }) => colour).find((each) => each !== colours[0]);
    $(".legend", within).replaceChildren(...labels.map((label, i) => element("li", [sample({ colour: colours[i], dash: [1, 0] }), label])));
    const rows = sharedBars(sorted, size, winner).map(({ side, ...bar }) => ({ ...bar, better: labels[side] ?? null, colour: colours[side] ?? null }));
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
    const words = { beyond: sorted.length + 0.5, place: sorted.indexOf(here) + 1, names: rows.map((row) => row.query), headline: `${name} of A minus that of B` };
    draw($(".chart", within), form, specs.bars[form], rows, words, click);
  };

  // Everything.

  const comparable = measures.length > 0 && strategies.length > 1;
  const show = () => {
    const { query } = state;
    const place = query === null ? "" : queries[query];
    if ($("#query") !== document.activeElement || query !== null) $("#query").value = place;
    $("#status").textContent = query === null ? `Means over ${nQueries(page.total)} are shown.` : `Query ${place} is shown.`;
    $("#clear").disabled = query === null;
    showStrategies();
    if (comparable) {
      for (const name of ["compared", "against", "measure", "a", "b"]) $(`#${name}`).value = state[name];
      showComparison();
    }
    showCurves("rank", "Curves by rank");
    showCurves("recall", "Precision by recall");
    showLegend();
    if (comparable) showHistogram();
    // What is chosen is said on paper, where nothing can be chosen.
    for (const select of document.querySelectorAll("select")) select.nextElementSibling.textContent = select.selectedOptions[0]?.textContent ?? "";
    if (!embedded.size) drawing.then(() => $("main").setAttribute("aria-busy", "false"));
  };

  const change = (changes) => {
    Object.assign(state, changes);
    const { chosen } = state;
    if (comparable) {
      // The two that are set against each other are chosen; where one no longer is, another comes.
      for (const [side, other] of [["a", "b"], ["b", "a"]]) {
        if (side in changes) chosen.add(state[side]);
        else if ("chosen" in changes && chosen.size > 1 && !chosen.has(state[side])) {
          state[side] = ranked(state.measure).find((s) => chosen.has(s) && s !== state[other]) ?? state[side];
        }
        if (side in changes && state.a === state.b) {
          state[other] = ranked(state.measure).find((s) => s !== state[side] && chosen.has(s)) ?? (state[side] ? 0 : 1);
          chosen.add(state[other]);
        }
      }
    }
    show();
  };

  const absent = (id, sentence) => {
    const within = $(`#${id}`);
    $(".content", within).hidden = Boolean(sentence);
    $(".absent", within).textContent = sentence ?? "";
    $(".absent", within).hidden = !sentence;
  };

  $("#about").textContent = page.about;
  $("#comparison .note").textContent = comparison.note ?? "";
  $("#believed").textContent = `${page.corrected} < ${page.alpha}`;
  absent("comparison", page.absent.comparison);
  absent("histogram", page.absent.comparison);
  for (const kind of ["rank", "recall"]) {
    const mine = curves.filter((curve) => curve.kind === kind);
    absent(kind, mine.length ? null : page.absent[kind]);
    options($(`#${kind} select`), mine.map(({ name }, i) => [i, name]), (i) => change({ [kind]: i }));
    $(`#${kind} .controls`).hidden = mine.length < 2;
  }
  const measureNames = measures.map(({ name }, m) => [m, name]);
  const strategyNames = strategies.map((name, s) => [s, name]);
  options($("#compared"), measureNames, (compared) => change({ compared }));
  options($("#measure"), measureNames, (measure) => change({ measure }));
  const fixed = comparison.baseline ?? null;
  options($("#against"), fixed === null ? [[-1, "every pair"], ...strategyNames] : [strategyNames[fixed]], (against) => change({ against }));
  options($("#a"), strategyNames, (a) => change({ a }));
  options($("#b"), strategyNames, (b) => change({ b }));
  $("#queries").append(...queries.map((name) => element("option", "", { value: name })));
  $("#all").addEventListener("click", () => change({ chosen: new Set(strategies.keys()) }));
  $("#none").addEventListener("click", () => change({ chosen: new Set() }));
  $("#clear").addEventListener("click", () => {
    $("#query").value = "";
    change({ query: null });
  });
  const find = () => {
    const text = $("#query").value;
    const query = text === "" ? null : queries.indexOf(text);
    if (query === -1) $("#status").textContent = `There is no query ${text}.`;
    else if (query !== state.query) change({ query });
  };
  $("#query").addEventListener("change", find);
  // Choosing from the list is an input, and no change until the field is left.
  $("#query").addEventListener("input", (event) => {
    if (!(event instanceof InputEvent) || event.inputType === "insertReplacementText") find();
  });
  $("#bar").addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  for (const [id, step] of [["previous", -1], ["next", 1]]) {
    $(`#${id}`).addEventListener("click", () => {
      const order = differences().map((row) => row.query);
      const place = state.query === null ? (step > 0 ? -1 : order.length) : order.indexOf(state.query);
      change({ query: order[(place + step + order.length) % order.length] ?? null });
    });
  }
  show();
})();
