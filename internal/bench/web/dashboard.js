// The dashboard: asks for the new points once a second, while it is visible, and
// draws them with uPlot. Everything it keeps is bounded by the length of the
// server's history.
"use strict";

(() => {
  const base = document.body.dataset.base;
  const $ = id => document.getElementById(id);
  const { format, element, frame, svg, sample, resolved, axis, yAxis, newPlot, onScheme, fit } = drawing;

  const every = 1000;             // milliseconds between two questions
  let boot = "", seq = 0;
  const length = 600;             // of the history, in seconds
  let times = [], columns = [];   // all points; columns in the order of the series
  let charts = [];                // {spec, first, key, part, button, path, value, quiet, line}, open ones {card, plot, ...} too
  let parts = [];                 // {box, grid, tiles, quiet, open}, one for each group
  const toggled = new Set();      // keys of charts that are open or closed, unlike at first
  let timer = 0, asking = false;

  const left = s => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`
    : s >= 60 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s` : `${Math.ceil(s)} s`;

  const span = () => Number($("span").value);

  // ---- charts

  const sized = fit(() => charts);

  // A chart is a button with one of its lines in small, which opens and closes it. Those of the
  // operations are in the rows of their table.
  function build(groups) {
    for (const c of charts) close(c);
    charts = [];
    rows.clear();
    const main = $("charts"), results = $("results"), ops = $("operations");
    ops.querySelector("tbody").replaceChildren();
    main.replaceChildren(ops, results);
    parts = groups.map((g, i) => {
      if (g.title === "Operations") return { grid: ops.querySelector(".grid") };
      const box = element("section", main);
      element("h2", box, "", g.title);
      if (i === 0) main.append(results);
      return {
        box, tiles: element("div", box, "tiles"), grid: element("div", box, "grid"),
        quiet: element("p", box, "dim"), open: g.title === "Workload",
      };
    });
    groups.forEach((g, i) => {
      for (const spec of g.charts) charts.push(tile(spec, g.title + "/" + spec.title, parts[i]));
    });
  }

  function tile(spec, key, part) {
    const button = element("button", part.tiles ?? part.grid, "tile");
    element("span", button, part.tiles ? "" : "sr", spec.title + " ");
    const picture = svg("svg", button, { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": true });
    const c = { spec, first: spec.first, key, part, button, path: svg("path", picture, {}), quiet: true, plot: null };
    c.value = element("b", button, "", "–");
    c.name = element("small", button, part.tiles ? "" : "sr");
    button.dataset.tile = key;
    button.title = [spec.title, spec.about].filter(Boolean).join(": ");
    button.addEventListener("click", () => {
      if (!toggled.delete(key)) toggled.add(key);
      place(c);
    });
    return c;
  }

  // Opens or closes a chart, as it should be. Open ones stand in the order of the charts.
  function place(c) {
    const open = !c.quiet && toggled.has(c.key) !== Boolean(c.part.open);
    c.button.setAttribute("aria-expanded", open);
    if (open === Boolean(c.plot)) return;
    if (!open) return close(c);
    Object.assign(c, frame(c.part.grid, c.spec, (li, i) => sample(li, `var(--c${i % hues})`, dash(i))));
    c.card.dataset.chart = c.key;
    charts.slice(charts.indexOf(c) + 1).find(d => d.plot && d.part === c.part)?.card.before(c.card);
    addFigures(c);
    c.plot = plot(c);
    sized.observe(c.holder);
    draw(c);
  }

  function close(c) {
    if (!c.plot) return;
    sized.unobserve(c.holder);
    c.plot.destroy();
    c.plot = null;
    c.card.remove();
  }

  // Lines differ by colour and by how they are broken.
  const hues = 6, dashes = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 2], [14, 4]];
  const dash = i => dashes[(i + Math.floor(i / hues)) % dashes.length];

  // Shows the charts that have a value other than zero, and names the others.
  function appear() {
    for (const c of charts) {
      const has = c.spec.series.map((s, i) => columns[c.first + i].some(Boolean));
      c.quiet = !has.includes(true);
      c.button.hidden = c.quiet;
      c.line = Math.max(c.spec.series.findIndex((s, i) => has[i] && s.name === "p99"), has.indexOf(true), 0);
      place(c);
    }
    for (const part of parts.filter(p => p.tiles)) {
      const list = charts.filter(c => c.part === part), quiet = list.filter(c => c.quiet);
      part.box.hidden = quiet.length === list.length;
      const text = quiet.length ? "Without a value so far, or always zero: " + quiet.map(c => c.spec.title).join(", ") + "." : "";
      if (part.quiet.textContent !== text) part.quiet.textContent = text;
    }
  }

  // Draws one line of a chart in small, with its newest value.
  function spark(c) {
    const column = columns[c.first + c.line], values = column.slice(-span());
    const most = Math.max(...values) || 1; // null counts as zero
    const step = 100 / Math.min(span(), Math.max(values.length - 1, 20));
    let d = "", pen = "M";
    values.forEach((v, i) => {
      if (v === null) pen = "M";
      else {
        d += `${pen}${(100 - (values.length - 1 - i) * step).toFixed(1)},${(19 - 18 * v / most).toFixed(1)}`;
        pen = "L";
      }
    });
    c.path.setAttribute("d", d);
    if (!c.part.tiles) return; // the table has its own figures
    const { series, unit } = c.spec;
    c.value.textContent = format(column[column.length - 1], unit);
    c.name.textContent = series.length > 1 ? series[c.line].name : "";
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
    legend(c);
    tabulate(c);
  }

  // Shows the values under the cursor, or else the newest.
  function legend(c) {
    const { idx } = c.plot.cursor;
    const at = idx === null || idx === undefined ? undefined : c.plot.data[0][idx];
    c.when.textContent = at === undefined ? "" : clock.format(at * 1000);
    c.values.forEach((b, i) => {
      const column = columns[c.first + i];
      const v = idx === null || idx === undefined ? column[column.length - 1] : c.plot.data[i + 1][idx];
      const text = format(v, c.spec.unit);
      if (b.textContent !== text) b.textContent = text;
    });
  }

  function drawAll() {
    for (const c of charts) {
      if (!c.quiet) spark(c);
      if (c.plot) draw(c);
    }
  }

  // ---- what runs

  function show(now) {
    $("now").classList.remove("lost");
    $("state").textContent = now.captures ? "Running now · being captured: " + now.captures : "Running now";
    $("phase").hidden = !now.phase;
    $("phase").textContent = now.phase;
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
    headline(now.operations || []);
  }

  // The figures of the whole program: those of the operations it counts, or else of its workload.
  function headline(list) {
    const newest = (key, ...lines) => charts.filter(c => key.test(c.key) && !c.quiet).flatMap(c =>
      c.spec.series.map((s, i) => lines.includes(s.name) ? columns[c.first + i].at(-1) : null))
      .filter(v => (v ?? null) !== null).reduce((sum, v) => (sum ?? 0) + v, null);
    const worst = list.toSorted((a, b) => b.p99_s - a.p99_s)[0];
    const figures = [
      ["operations", list.length ? list.reduce((sum, o) => sum + o.rate, 0) : newest(/^Workload\/Throughput/, "ops"), "/s"],
      [worst?.p99_s ? "worst p99, " + worst.name : "p99", worst ? worst.p99_s || null : newest(/^Workload\/Latency/, "p99"), "s"],
      ["of the processors", newest(/^Machine\/Processors/, "process"), "%"],
      ["conflicts", newest(/^Map.*\/Aborts by cause/, "a read changed", "a scan changed", "a write came first"), "/s"],
    ].filter(([, v]) => v !== null);
    const text = JSON.stringify(figures);
    if ($("headline").dataset.text === text) return;
    $("headline").dataset.text = text;
    $("headline").replaceChildren();
    for (const [name, v, unit] of figures) {
      const li = element("li", $("headline"));
      element("b", li, "", format(v, unit));
      element("span", li, "", name);
    }
  }

  // Says which map loses more than a tenth of its attempts to conflicts, and most of them.
  function losing() {
    const late = (group, title, n) => {
      const c = charts.find(c => c.key === `${group}/${title}`);
      return columns.slice(c.first, c.first + n).flatMap(column => column.slice(-15))
        .reduce((x, y) => x + (y || 0), 0);
    };
    const groups = charts.map(c => c.key).filter(name => name.endsWith("/Aborts by cause"))
      .map(name => name.slice(0, name.lastIndexOf("/")))
      .map(name => ({ name, lost: late(name, "Aborts by cause", 3), won: late(name, "Transactions", 1) }))
      .filter(g => g.lost > 20 && 9 * g.lost > g.won).sort((g, h) => h.lost - g.lost);
    $("losing").hidden = !groups.length;
    if (!groups.length) return;
    const { name, lost, won } = groups[0];
    $("lost").textContent = `${name} loses ${Math.round(100 * lost / (lost + won))} % of its attempts to conflicts.`;
  }

  // The operations that the program counts, those first on which it spends most time.
  const rows = new Map(); // of the table, by name
  function operations(list) {
    $("operations").hidden = !list.length;
    const body = $("operations").querySelector("tbody");
    list.forEach((o, at) => {
      let tr = rows.get(o.name);
      const texts = [
        o.name, format(o.rate, "/s"), format(o.errors, "/s"),
        ...[o.p50_s, o.p99_s, o.max_s].map(v => format(v || null, "s")),
        format(o.busy, ""), String(o.total),
      ];
      if (!tr) {
        rows.set(o.name, tr = body.insertRow());
        for (const k of texts.keys()) tr.insertCell();
        for (const [k, title] of [[1, o.name], [4, o.name + ", latency"]]) {
          const c = charts.find(c => !c.part.tiles && c.spec.title === title);
          if (c) tr.cells[k].append(c.button);
        }
      }
      texts.forEach((text, k) => {
        const e = tr.cells[k].querySelector("b") ?? tr.cells[k];
        if (e.textContent !== text) e.textContent = text;
      });
      if (body.rows[at] !== tr) body.rows[at].before(tr);
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
    appear();
    show(a.now);
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
    for (const c of charts.filter(c => c.plot)) {
      c.plot.destroy();
      c.plot = plot(c);
    }
    drawAll();
  });
  poll();
})();
