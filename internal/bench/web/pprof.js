// What the pages of github.com/google/pprof lack for those who use the keyboard: menus that open,
// headings that sort, and a flame graph to walk through. They are worked as by a mouse.
"use strict";

(() => {
  const mouse = (e, type) => {
    const box = e.getBoundingClientRect();
    e.dispatchEvent(new MouseEvent(type, {
      bubbles: type !== "mouseenter" && type !== "mouseleave", cancelable: true,
      clientX: box.left + Math.min(box.width, 40), clientY: box.top + box.height,
    }));
  };
  const pressed = e => e.key === "Enter" || e.key === " ";

  // Menus.
  for (const menu of document.querySelectorAll(".header .submenu")) {
    const name = menu.parentElement.querySelector(".menu-name");
    name.tabIndex = 0;
    name.setAttribute("role", "button");
    name.setAttribute("aria-haspopup", "true");
    name.addEventListener("keydown", e => {
      if (!pressed(e) && e.key !== "ArrowDown") return;
      e.preventDefault();
      mouse(name, "mousedown");
      menu.querySelector("a[href]:not(.disabled)")?.focus();
    });
  }
  // Links take what is searched for or chosen along when the mouse comes.
  for (const link of document.querySelectorAll(".submenu a")) {
    link.addEventListener("focus", () => mouse(link, "mouseenter"));
  }
  document.addEventListener("keydown", e => {
    const menu = document.activeElement.closest(".submenu");
    if (e.key === "Escape") {
      mouse(document.body, "mousedown");
      if (menu) (menu.parentElement.querySelector(".menu-name") ?? current)?.focus();
    } else if (menu && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      const links = [...menu.querySelectorAll("a[href]:not(.disabled)")]
        .filter(a => a.offsetParent);
      const step = e.key === "ArrowDown" ? 1 : links.length - 1;
      links[(links.indexOf(document.activeElement) + step) % links.length]?.focus();
    }
  });
  document.getElementById("search")?.setAttribute("aria-label", "Search, a regular expression");

  // The headings of the table that sort it, and what scrolls.
  for (const id of ["flathdr1", "flathdr2", "cumhdr1", "cumhdr2", "namehdr"]) {
    const th = document.getElementById(id);
    if (!th) continue;
    th.tabIndex = 0;
    th.title = "sort";
    th.addEventListener("keydown", e => {
      if (pressed(e)) {
        e.preventDefault();
        th.click();
      }
    });
  }
  for (const e of document.querySelectorAll("#top, #content, pre")) e.tabIndex = 0;

  // What names a function and a line, in the page of callers and callees, leads to its source.
  const peek = location.pathname.endsWith("/peek") && document.querySelector("pre");
  if (peek) {
    const parts = peek.textContent.split(/(\S+) (\S+\.go):(\d+)/);
    peek.replaceChildren(parts[0]);
    for (let i = 1; i < parts.length; i += 4) {
      const [name, file, line, rest] = parts.slice(i, i + 4);
      const link = document.createElement("a");
      link.href = `source?f=${encodeURIComponent(`^${name.replace(/[^\w/]/g, "\\$&")}$`)}#L${line}`;
      link.textContent = `${file}:${line}`;
      peek.append(`${name} `, link, rest);
    }
  }

  // The line of the source that a link means.
  const number = /^#L(\d+)$/.exec(location.hash)?.[1];
  const line = number && [...document.querySelectorAll(".source .line")]
    .find(e => e.textContent.trim() === number)?.nextElementSibling;
  if (line) {
    line.classList.add("chosen");
    line.scrollIntoView({ block: "center" });
  }

  // The flame graph: one box has the focus, arrows lead to its neighbours.
  const chart = document.getElementById("stack-chart");
  let current = null, zoomed = false;
  if (!chart) return;
  const place = box => {
    const { left, top, width } = box.style;
    return { left: parseFloat(left), top: parseFloat(top), width: parseFloat(width) };
  };
  const boxes = () => [...chart.querySelectorAll(".boxbg")];

  function enter(box) {
    if (current) current.tabIndex = -1;
    current = box;
    box.tabIndex = 0;
    box.setAttribute("role", "button"); // it has a name when it has the focus
  }

  function neighbour(key) {
    const at = place(current), list = boxes();
    const row = top => list.filter(b => Math.abs(place(b).top - top) < 1);
    const i = list.indexOf(current);
    switch (key) {
    case "ArrowDown":
      return row(at.top + 20).find(b => {
        const left = place(b).left;
        return left > at.left - 1 && left < at.left + at.width;
      });
    case "ArrowUp":
      return row(at.top - 20).findLast(b => place(b).left < at.left + 1);
    case "ArrowRight":
      return row(at.top).find(b => list.indexOf(b) > i);
    case "ArrowLeft":
      return row(at.top).findLast(b => list.indexOf(b) < i);
    }
  }

  function label() {
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", "Flame graph: arrows walk, Enter zooms, M opens the menu");
    for (const box of boxes()) box.tabIndex = -1;
    // What is zoomed in is below the line that divides callers and callees.
    const line = chart.querySelector(".separator");
    const first = boxes().find(b => !line || place(b).top > place(line).top);
    current = null;
    if (first) enter(first);
    if (first && zoomed) first.focus();
    zoomed = false;
  }

  chart.addEventListener("focusin", e => {
    enter(e.target);
    mouse(e.target, "mouseenter"); // shows its details, which become its title
    e.target.setAttribute("aria-label", e.target.title);
  });
  chart.addEventListener("focusout", e => mouse(e.target, "mouseleave"));
  chart.addEventListener("keydown", e => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "Enter") {
      e.preventDefault();
      zoomed = true;
      mouse(current, "mousedown");
      mouse(current, "click");
    } else if (e.key === "m" || e.key === "M") {
      e.preventDefault();
      mouse(current, "contextmenu");
      document.getElementById("action-source").focus();
    } else if (e.key.startsWith("Arrow")) {
      e.preventDefault();
      neighbour(e.key)?.focus();
    }
  });
  new MutationObserver(label).observe(chart, { childList: true });
  label();
})();
