// The charts of a run, each a card in the grid of its workload. What is drawn is in the page.
"use strict";

(() => {
  const { format, element, frame, svg, sample, resolved, axis, yAxis, newPlot, onScheme, fit } = drawing;
  const hues = 6;

  // A series differs from others by colour and mark: the number of corners, and where the first is.
  // If colours repeat, marks differ, lines are broken, and bars are empty.
  const marks = [[24, 0], [4, 1 / 8], [3, -1 / 4], [4, 0], [3, 1 / 4]];
  const colour = place => resolved("--c" + place % hues);
  const dash = place => place < hues ? [] : [6, 3];
  function outline(place, radius) {
    const [n, turn] = marks[place % marks.length], size = radius * (n === 24 ? .9 : 1.15);
    return Array.from({ length: n }, (_, i) => {
      const angle = 2 * Math.PI * (turn + i / n);
      return [size * Math.cos(angle), size * Math.sin(angle)];
    });
  }

  function swatch(li, place) {
    const stroke = `var(--c${place % hues})`;
    svg("polygon", sample(li, stroke, dash(place)), { fill: stroke, points: outline(place, 5).join(" ") });
  }

  // Returns the points of a chart by x. If there is only one x, each series gets its own, side by
  // side: as a bar or, on a logarithmic axis, which has no bottom, as a mark.
  function columns({ x, series }) {
    const bars = x.ticks.length === 1;
    const at = s => s.points.map(p => bars ? series.indexOf(s) : p.x);
    const xs = [...new Set(series.flatMap(at))].sort((a, b) => a - b);
    const points = series.map(s => {
      const byX = new Map(at(s).map((x, i) => [x, s.points[i]]));
      return xs.map(x => byX.get(x) || null);
    });
    return { bars, xs, points };
  }

  // Returns the range of y: from zero, or between 1, 2 and 5 times powers of ten.
  function range({ y, series }) {
    const all = series.flatMap(s => s.points);
    const low = Math.min(...all.map(p => p.min)), high = Math.max(...all.map(p => p.max));
    if (!y.log) return [0, high > 0 ? high * 1.08 : 1];
    const round = (v, factors, fits) => {
      const power = 10 ** Math.floor(Math.log10(v));
      return power * (factors.find(f => fits(f * power)) || 1);
    };
    const from = round(low, [5, 2, 1], v => v <= low * 1.0001);
    const to = round(high, [1, 2, 5, 10], v => v >= high * .9999);
    return [from, to > from ? to : 2 * from];
  }

  // The x axis has its marks where the points are. A number that would touch the last is left out.
  function xAxis({ x }, bars, xs) {
    const middle = (xs[0] + xs[xs.length - 1]) / 2;
    const ticks = bars ? [{ at: middle, label: x.ticks[0].label }] : x.ticks;
    const a = axis();
    if (bars) a.grid = { show: false };
    return {
      ...a, size: 24, label: x.label, labelSize: 18, labelFont: "12px system-ui, sans-serif",
      splits: ticks.map(t => t.at).sort((a, b) => a - b),
      values: (u, list) => {
        const taken = [], shown = new Map();
        for (const t of ticks) {
          const at = u.valToPos(t.at, "x"), half = t.label.length * 3.5 + 3;
          if (taken.some(([from, to]) => at + half > from && at - half < to)) continue;
          taken.push([at - half, at + half]);
          shown.set(t.at, t.label);
        }
        return list.map(v => shown.get(v) || "");
      },
    };
  }

  // Points that are so close to each other have no marks.
  const many = 40;

  // Draws the samples' extremes and the marks.
  function drawPoints(u, spec, { bars, xs, points }, colours) {
    const { ctx } = u, px = uPlot.pxRatio;
    const line = (x0, y0, x1, y1) => {
      ctx.beginPath();
      ctx.moveTo(x0, y0);
      ctx.lineTo(x1, y1);
      ctx.stroke();
    };
    ctx.save();
    ctx.lineWidth = px;
    ctx.setLineDash([]);
    points.forEach((list, i) => list.forEach((p, k) => {
      if (!p || xs.length > many) return;
      const { place } = spec.series[i];
      const [x, y, low, high] = [u.valToPos(xs[k], "x", true),
        ...[p.y, p.min, p.max].map(v => u.valToPos(v, "y", true))];
      ctx.fillStyle = colours[i];
      ctx.strokeStyle = bars && !spec.y.log ? colours.text : colours[i];
      if (p.max > p.min) {
        line(x, low, x, high);
        for (const end of [low, high]) line(x - 3 * px, end, x + 3 * px, end);
      }
      if (bars && !spec.y.log) return;
      ctx.beginPath();
      for (const [dx, dy] of outline(place, 4 * px)) ctx.lineTo(x + dx, y + dy);
      ctx.fill();
    }));
    ctx.restore();
  }

  function plot(c) {
    const { spec, data } = c, { bars, xs, points } = data;
    const room = bars ? Math.max(1, 2.5 - xs.length / 2) : (xs[xs.length - 1] - xs[0]) / 25;
    const y = range(spec), colours = spec.series.map(s => colour(s.place));
    colours.text = resolved("--text");
    const paths = bars && !spec.y.log ? { paths: uPlot.paths.bars({ size: [.7, 60] }) } : {};
    return newPlot(c.holder, {
      padding: [8, 16, 0, 0],
      scales: {
        x: { time: false, range: [spec.x.unit ? 0 : xs[0] - room, xs[xs.length - 1] + room] },
        y: { distr: spec.y.log ? 3 : 1, range: y },
      },
      axes: [xAxis(spec, bars, xs), yAxis(spec.y.unit, spec.y.log)],
      series: [{}, ...spec.series.map((s, i) => ({
        stroke: colours[i], fill: bars && s.place < hues ? colours[i] : undefined, width: 1.6,
        dash: dash(s.place), spanGaps: true, points: { show: false }, ...paths,
      }))],
      hooks: { draw: [u => drawPoints(u, spec, data, colours)], setCursor: [() => legend(c)] },
    }, [xs, ...points.map(list => list.map(p => p && p.y))]);
  }

  // Shows the figures under the cursor, or else the rightmost ones that most series have.
  function legend(c) {
    const { bars, xs, points } = c.data;
    const idx = c.plot && c.plot.cursor.idx;
    const count = k => points.filter(list => list[k]).length;
    const most = Math.max(...xs.map((x, k) => count(k)));
    const k = typeof idx === "number" ? idx : xs.findLastIndex((x, k) => count(k) === most);
    const { ticks, unit } = c.spec.x;
    const tick = bars ? ticks[0] : unit ? { label: format(xs[k], unit) } : ticks.find(t => t.at === xs[k]);
    points.forEach((list, i) => {
      const p = bars ? list.find(p => p) : list[k];
      c.values[i].textContent = format(p && p.y, c.spec.y.unit);
    });
    c.where.textContent = `at ${tick.label}`;
  }

  const list = [];
  const sized = fit(() => list);
  JSON.parse(document.getElementById("data").textContent).forEach((section, i) => {
    for (const spec of section.charts) {
      const parts = frame(document.getElementById("charts-" + i), spec,
        (li, s) => swatch(li, spec.series[s].place));
      const c = { ...parts, spec, data: columns(spec), plot: null };
      c.where = element("span", element("li", c.legend));
      list.push(c);
      c.plot = plot(c);
      legend(c);
      sized.observe(c.holder);
    }
  });
  onScheme(() => {
    for (const c of list) {
      c.plot.destroy();
      c.plot = plot(c);
    }
  });
})();
