// The pages of slow operations and of conflicts: asks for itself every two seconds while it is visible, and puts in
// what has changed. What somebody types or opens meanwhile stays.
"use strict";

(() => {
  const parts = ["state", "ops", "tails", "kept"].filter(id => document.getElementById(id));
  const text = page => parts.map(id => page.getElementById(id).innerHTML);
  let shown = text(document);

  async function refresh() {
    if (document.hidden) return;
    const res = await fetch(location.href, {
      signal: AbortSignal.timeout(15000), cache: "no-store", credentials: "same-origin",
    });
    if (!res.ok) return;
    const fresh = new DOMParser().parseFromString(await res.text(), "text/html");
    const now = text(fresh);
    parts.forEach((id, i) => {
      if (now[i] === shown[i]) return;
      const part = document.getElementById(id), other = fresh.getElementById(id);
      part.className = other.className;
      part.replaceChildren(...other.childNodes);
    });
    shown = now;
  }

  setInterval(() => refresh().catch(() => {}), 2000); // the next may succeed
})();
