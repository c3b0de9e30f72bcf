// The dashboard: asks for the new points once a second, while it is visible, and
// draws them with uPlot. Everything it keeps is bounded by the length of the
// server's history.
"use strict";

(() => {
  const base = document.body.dataset.base;
  const $ = id => document.getElementById(id);
  const { format, element, frame, sample, resolved, axis, yAxis, newPlot, onScheme, fit } = drawing;

  const every = 1000;             // milliseconds between two questions
  let boot = "", seq = 0;
  const length = 600;             // of the history, in seconds
  let times = [], columns = [];   // all points; columns in the order of the series
  let charts = [];                // {card, plot, spec, part, quiet, visible, drawn, values}
  let parts = [];                 // {grid, fold, summary, folded, names}, one for each group
  let timer = 0, asking = false;

  const left = s => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`
    : s >= 60 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s` : `${Math.ceil(s)} s`;

  const span = () => Number($("span").value);

  // ---- charts

  const seen = new IntersectionObserver(list => {
    for (const e of list) {
      const c = charts.find(c => c.card === e.target);
      if (!c) continue;
      c.visible = e.isIntersecting;
      if (c.visible) draw(c);
    }
  }, { rootMargin: "100px" });
  const sized = fit(() => charts);

  function build(groups) {
    for (const c of charts) {
      seen.unobserve(c.card);
      sized.unobserve(c.holder);
      if (c.plot) c.plot.destroy();
    }
    charts = [];
    parts = [];
    const main = $("charts"), results = $("results"), ops = $("operations");
    main.replaceChildren(ops, results);
    for (const g of groups) {
      element("h2", main, "", g.title);
      const part = { grid: element("div", main, "grid"), fold: element("details", main, "quiet") };
      part.summary = element("summary", part.fold);
      part.folded = element("div", part.fold, "grid");
      parts.push(part);
      for (const spec of g.charts) {
        const made = frame(part.folded, spec, (li, i) => sample(li, `var(--c${i % hues})`, dash(i)));
        made.card.dataset.chart = g.title + "/" + spec.title;
        const c = { ...made, spec, part, first: spec.first, quiet: true, visible: false, plot: null };
        addFigures(c);
        charts.push(c);
        c.plot = plot(c);
        seen.observe(c.card);
        sized.observe(c.holder);
      }
      if (g === groups[0]) main.append(results);
    }
  }

  // Lines differ by colour and by how they are broken.
  const hues = 6, dashes = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 2], [14, 4]];
  const dash = i => dashes[(i + Math.floor(i / hues)) % dashes.length];

  // Folds the charts away that never had a value, and takes out those that have.
  function fold(had) {
    for (const part of parts) {
      const list = charts.filter(c => c.part === part);
      for (const c of list) {
        c.quiet = !c.spec.series.some((s, i) => had[c.first + i] === "1");
        const place = c.quiet ? part.folded : part.grid;
        if (c.card.parentNode === place) continue;
        // Behind those before it that are in the same place.
        const before = list.slice(0, list.indexOf(c)).findLast(d => d.quiet === c.quiet);
        if (before) before.card.after(c.card); else place.prepend(c.card);
      }
      const quiet = list.filter(c => c.quiet);
      part.fold.hidden = !quiet.length;
      const text = quiet.map(c => c.spec.title).join(", ");
      if (part.names === text) continue;
      part.names = text;
      part.summary.replaceChildren();
      element("b", part.summary, "", quiet.length === 1 ? "1 chart" : `${quiet.length} charts`);
      part.summary.append(" without a value so far, or always zero: " + text);
    }
  }

  // Adds the table of a chart, for those who do not see the picture.
  function addFigures(c) {
    const box = element("details", c.card, "figures");
    element("span", element("summary", box, "", "Table"), "sr", " of " + c.spec.title);
    const scroll = element("div", box, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", c.spec.title);
    c.table = element("table", scroll);
    c.figures = box;
    box.addEventListener("toggle", () => tabulate(c));
  }

  // Fills the table of a chart: the newest row first, at most a dozen over what is shown.
  const mostRows = 12;
  function tabulate(c) {
    if (!c.figures.open) return;
    const [at, ...lines] = c.plot.data;
    const step = Math.max(Math.ceil(at.length / mostRows), 1);
    c.table.replaceChildren();
    const row = (parent, tag, cells) => {
      const tr = element("tr", parent);
      for (const cell of cells) element(tag, tr, "", cell);
    };
    row(element("thead", c.table), "th", ["Time", ...c.spec.series.map(s => s.name)]);
    const body = element("tbody", c.table);
    for (let i = at.length - 1; i >= 0; i -= step) {
      row(body, "td", [clock.format(at[i] * 1000), ...lines.map(l => format(l[i], c.spec.unit))]);
    }
  }

  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

  function plot(c) {
    const { spec } = c, log = spec.scale === "log";
    const range = log
      ? (u, min, max) => min === null || !(min > 0) ? [1e-6, 1e-3] : uPlot.rangeLog(min, max, 10, true)
      : (u, min, max) => {
        if (min === null || max === null) return [0, 1];
        return [0, max > 0 ? max * 1.08 : 1];
      };
    return newPlot(c.holder, {
      padding: [8, 4, 0, 0],
      cursor: { sync: { key: "time" } },
      scales: { x: { time: true, range: extent }, y: { distr: log ? 3 : 1, range } },
      axes: [{ ...axis(), size: 24, space: 70, values: clocks }, yAxis(spec.unit, log)],
      series: [{}, ...spec.series.map((s, i) => ({
        label: s.name, stroke: resolved("--c" + i % hues), dash: dash(i), width: 1.5, spanGaps: false, points: { show: false },
      }))],
      hooks: { setCursor: [() => legend(c)] },
    }, [[], ...spec.series.map(() => [])]);
  }

  // No label under those of the other axis, or cut off.
  const clocks = (u, list) => list.map(v => {
    const x = u.valToPos(v, "x");
    return x < 24 || x > u.over.clientWidth - 24 ? "" : clock.format(v * 1000);
  });

  // The end of the newest point, so that what is old moves out on the left.
  function extent() {
    const end = times.length ? times[times.length - 1] : Date.now() / 1000;
    const from = end - span(); // not earlier than there is something, so that little has room
    return [times.length ? Math.max(from, Math.min(times[0], end - 20)) : from, end];
  }

  function draw(c) {
    const from = Math.max(times.length - span() - 2, 0);
    const data = [times.slice(from)];
    for (let i = 0; i < c.spec.series.length; i++) {
      const column = columns[c.first + i].slice(from);
      // What a logarithmic scale has no place for.
      data.push(c.spec.scale === "log" ? column.map(v => v > 0 ? v : null) : column);
    }
    c.plot.setData(data);
    c.drawn = times.length > 1;
    legend(c);
    tabulate(c);
  }

  // Shows the values under the cursor, or else the newest.
  function legend(c) {
    const idx = c.plot && c.visible ? c.plot.cursor.idx : null;
    const at = idx === null || idx === undefined ? undefined : c.plot.data[0][idx];
    c.when.textContent = at === undefined ? "" : clock.format(at * 1000);
    c.values.forEach((b, i) => {
      const column = columns[c.first + i];
      const v = idx === null || idx === undefined ? column[column.length - 1] : c.plot.data[i + 1][idx];
      const text = format(v, c.spec.unit);
      if (b.textContent !== text) b.textContent = text;
    });
  }

  // What is out of sight is drawn at first and then seldom: for pictures of the whole page.
  let round = 0;
  function drawAll() {
    round++;
    charts.forEach((c, i) => {
      if (c.visible || !c.drawn || (i + round) % 10 === 0) draw(c); else legend(c);
    });
  }

  // ---- what runs

  function show(now) {
    const box = $("now");
    box.classList.remove("lost");
    $("state").textContent = now.captures ? "Running now · being captured: " + now.captures : "Running now";
    $("phase").textContent = now.phase || "The program does not say what runs now.";
    $("age").textContent = now.phase_age_s ? "for " + left(now.phase_age_s) : "";
    $("progress").hidden = !now.of;
    if (now.of) {
      $("bar").max = now.of;
      $("bar").value = now.done;
      $("steps").textContent = `${now.done} of ${now.of} done` + (now.left_s ? `, ${left(now.left_s)} left` : "");
    }
    $("next").textContent = now.next ? "Next: " + now.next : "";
    $("goroutines").textContent = ` · ${now.goroutines} goroutines`;
    table(now.results);
    operations(now.operations || []);
  }

  // Says which map loses more than a tenth of its attempts to conflicts, and most of them.
  function losing() {
    const late = (group, title, n) => {
      const c = charts.find(c => c.card.dataset.chart === `${group}/${title}`);
      return columns.slice(c.first, c.first + n).flatMap(column => column.slice(-15))
        .reduce((x, y) => x + (y || 0), 0);
    };
    const groups = charts.map(c => c.card.dataset.chart).filter(name => name.endsWith("/Aborts by cause"))
      .map(name => name.slice(0, name.lastIndexOf("/")))
      .map(name => ({ name, lost: late(name, "Aborts by cause", 3), won: late(name, "Transactions", 1) }))
      .filter(g => g.lost > 20 && 9 * g.lost > g.won).sort((g, h) => h.lost - g.lost);
    $("losing").hidden = !groups.length;
    if (!groups.length) return;
    const { name, lost, won } = groups[0];
    $("lost").textContent = `${name} loses ${Math.round(100 * lost / (lost + won))} % of its attempts to conflicts.`;
  }

  // The operations that the program counts, those first on which it spends most time.
  function operations(list) {
    $("operations").hidden = !list.length;
    const body = $("operations").querySelector("tbody");
    while (body.rows.length > list.length) body.deleteRow(-1);
    list.forEach((o, i) => {
      const tr = body.rows[i] || body.insertRow();
      const cells = [
        o.name, format(o.rate, "/s"), format(o.errors, "/s"),
        ...[o.p50_s, o.p99_s, o.max_s].map(v => format(v || null, "s")),
        format(o.busy, ""), String(o.total),
      ];
      cells.forEach((text, k) => {
        const td = tr.cells[k] || tr.insertCell();
        if (td.textContent !== text) td.textContent = text;
      });
    });
  }

  let shown = "";
  function table(results) {
    const text = JSON.stringify(results || null);
    if (text === shown) return;
    shown = text;
    $("results").hidden = !results;
    if (!results) return;
    const [head, body] = [$("results").querySelector("thead"), $("results").querySelector("tbody")];
    const row = (parent, tag, cells) => {
      const tr = document.createElement("tr");
      for (const cell of cells) element(tag, tr, "", cell);
      parent.append(tr);
    };
    head.replaceChildren();
    body.replaceChildren();
    row(head, "th", results.columns);
    for (const cells of results.rows.slice().reverse()) row(body, "td", cells);
  }

  // ---- polling

  async function ask() {
    const res = await fetch(`${base}live.json?after=${seq}&boot=${encodeURIComponent(boot)}`, {
      signal: AbortSignal.timeout(15000), cache: "no-store", credentials: "same-origin",
    });
    if (!res.ok) throw new Error((await res.text()).trim() || res.statusText);
    const a = await res.json();
    if (a.groups) { // the first answer, another program by now, or other charts
      boot = a.boot;
      times = [];
      columns = a.columns.map(() => []);
      build(a.groups);
    }
    seq = a.seq;
    times.push(...a.times);
    a.columns.forEach((c, i) => columns[i].push(...c));
    const surplus = times.length - length;
    if (surplus > 0) {
      times.splice(0, surplus);
      for (const c of columns) c.splice(0, surplus);
    }
    show(a.now);
    fold(a.had);
    losing();
    if (a.times.length || a.groups) drawAll();
  }

  async function poll() {
    clearTimeout(timer);
    if (asking || document.hidden) return;
    asking = true;
    try {
      await ask();
    } catch (e) {
      lost(e);
    }
    asking = false;
    if (!document.hidden) timer = setTimeout(poll, every);
  }

  function lost(e) {
    $("now").classList.add("lost");
    const why = e.name === "TimeoutError" ? "it takes too long" : e.name === "TypeError" ? "the program has ended, or cannot be reached" : e.message;
    const last = times.length ? " What is shown is from " + clock.format(times[times.length - 1] * 1000) + "." : "";
    $("state").textContent = `No answer, asking again: ${why}.${last}`;
  }

  document.addEventListener("visibilitychange", poll);
  $("span").addEventListener("change", drawAll);
  onScheme(() => {
    for (const c of charts) {
      c.plot.destroy();
      c.plot = plot(c);
    }
    drawAll();
  });
  poll();
})();
