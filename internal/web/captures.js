// The page of profiles: takes captures without leaving the page, with the time that is left and
// a button that ends them. Without this script the links and the form do the same, and the page
// waits.
"use strict";

(() => {
  const form = document.getElementById("new"), list = document.getElementById("taking");
  const ready = document.getElementById("ready");
  let taking = 0;

  function element(name, parent, text) {
    const e = document.createElement(name);
    e.textContent = text;
    parent.append(e);
    return e;
  }

  // How many seconds the server takes for what is asked for, 0 for what there is now.
  function seconds(query) {
    const n = Number(query.get("seconds")) ||
      (["cpu", "wall"].includes(query.get("type")) ? Number(form.dataset.cpu) : 0);
    return Math.min(n, Number(form.dataset.longest));
  }

  async function take(url) {
    const end = performance.now() + 1000 * seconds(url.searchParams);
    const cancelled = new AbortController();
    const li = document.createElement("li");
    element("b", li, url.searchParams.get("type"));
    const state = element("span", li, ""), button = element("button", li, "Cancel");
    state.className = "what";
    button.type = "button";
    button.className = "quiet";
    button.onclick = () => cancelled.abort(); // the server sees that nobody waits, and ends it
    list.hidden = false;
    list.append(li);
    button.focus();
    const show = () => {
      const left = Math.ceil((end - performance.now()) / 1000);
      state.textContent = left > 0 ? `${left} s left` : "reading …";
    };
    const clock = setInterval(show, 200);
    show();
    taking++;
    try {
      url.searchParams.set("format", "json");
      const res = await fetch(url, { signal: cancelled.signal, cache: "no-store" });
      if (!res.ok) throw new Error(await res.text());
      const made = await res.json();
      const page = new URL(made.page, url);
      if (made.empty) {
        throw new Error(`Nothing was sampled. It is kept as capture ${made.id}.`);
      } else if (taking === 1) {
        location.assign(page);
        state.textContent = "opening …";
      } else { // opening it would end the others
        state.textContent = "";
        element("a", state, `Open capture ${made.id}`).href = page;
      }
    } catch (err) {
      state.textContent = cancelled.signal.aborted ? "Cancelled." : err.message;
      li.classList.toggle("failed", !cancelled.signal.aborted);
    }
    clearInterval(clock);
    taking--;
    button.remove();
    ready.textContent = li.textContent;
  }

  // The commands to copy have the address of this page: a proxy may have shortened it for the server.
  const commands = document.getElementById("commands"), { at, plain, token } = commands.dataset;
  const here = location.host + location.pathname.replace(/\/debug\/pprof\/$/, "");
  const own = [`${location.protocol}//${token}${here}`, `${location.protocol}//${here}`];
  const code = commands.querySelector("code");
  code.textContent = code.textContent.replaceAll(`${at}/debug`, `${own[0]}/debug`)
    .replaceAll(`${plain}/debug`, `${own[1]}/debug`);

  form.addEventListener("submit", e => {
    e.preventDefault();
    const url = new URL(form.action);
    url.search = new URLSearchParams(new FormData(form));
    take(url);
  });
  document.getElementById("kinds").addEventListener("click", e => {
    const link = e.target.closest(`a[href*="ui/new?"]`);
    if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    take(new URL(link.href));
  });
})();
