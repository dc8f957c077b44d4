"use strict";
(() => {
  const main = document.getElementById("main");
  const live = document.getElementById("live");
  const help = document.getElementById("keys");
  const html = window.trustedTypes
    ? trustedTypes.createPolicy("epitome", { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const path = location.pathname;
  const session = path.startsWith("/s/") && path.split("/").length === 3
    ? decodeURIComponent(path.split("/")[2]) : null;
  const isLive = session !== null || /^\/($|health$|t\/)/.test(path);

  // What was done is said once.
  if (location.search.includes("done=")) {
    const query = new URLSearchParams(location.search);
    query.delete("done");
    const rest = query.toString();
    history.replaceState(null, "", path + (rest ? "?" + rest : "") + location.hash);
  }

  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const details = target && target.closest("details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // --- Fresh content in the place of the old one ---
  let loading = false;
  let isStale = false;
  const isBusy = () => {
    const at = document.activeElement;
    const writes = at && main.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
    const marked = getSelection();
    return writes || document.hidden || (marked && !marked.isCollapsed && main.contains(marked.anchorNode));
  };
  const refresh = async () => {
    if (loading || isBusy()) {
      isStale = true;
      if (!loading) live.textContent = "paused";
      return;
    }
    loading = true;
    isStale = false;
    try {
      const answer = await fetch(path + location.search, { headers: { accept: "text/html" } });
      // What is gone is said in the place of what was there.
      if (!answer.ok && answer.status !== 404) return;
      const page = new DOMParser().parseFromString(html.createHTML(await answer.text()), "text/html");
      const fresh = page.getElementById("main");
      if (fresh && !isBusy()) swap(fresh, page.title);
      else isStale = true;
    } catch {
      isStale = true;
    } finally {
      loading = false;
    }
  };
  const fields = () => [...main.querySelectorAll("select, input[type=search], input[type=text], textarea")];
  const fieldOf = (it) => it.id || it.name;
  const asMade = (it) => {
    if (it.tagName !== "SELECT") return it.defaultValue;
    const all = [...it.options];
    return (all.find((option) => option.defaultSelected) || all[0] || {}).value;
  };
  const keyOf = (row) => row.id || (row.querySelector("a[href]") || {}).href || "";
  const swap = (fresh, title) => {
    const before = new Map();
    for (const row of main.querySelectorAll(".row")) before.set(keyOf(row), row.textContent);
    const open = [...main.querySelectorAll("details[open][id]")].map((it) => it.id);
    const at = document.activeElement;
    const focus = at && main.contains(at) ? at.id || at.getAttribute("href") : null;
    const here = main.querySelector(".here");
    const place = here && keyOf(here);
    const scrolled = [...main.querySelectorAll(".scroll")].map((it) => it.scrollLeft);
    const done = main.querySelector(".done");
    // What was written or chosen and not yet sent stays.
    const written = new Map(fields().map((it) => [fieldOf(it), it.value]));
    const shown = new Map(fields().map((it) => [fieldOf(it), asMade(it)]));
    main.replaceChildren(...fresh.childNodes);
    if (done && !main.querySelector(".done")) main.prepend(done);
    document.title = title;
    live.textContent = "live";
    for (const it of fields()) {
      const [value, was] = [written.get(fieldOf(it)), shown.get(fieldOf(it))];
      if (value === undefined || value === was) continue;
      if (it.tagName !== "SELECT" || [...it.options].some((option) => option.value === value)) it.value = value;
    }
    for (const id of open) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    main.querySelectorAll(".scroll").forEach((it, at) => { it.scrollLeft = scrolled[at] || 0; });
    for (const row of main.querySelectorAll(".row")) {
      const key = keyOf(row);
      const known = before.get(key);
      const strip = (text) => text.replace(/\b(now|\d+ (s|min|h|days) ago)|live /g, "");
      if (known === undefined || strip(known) !== strip(row.textContent)) row.classList.add("fresh");
      if (place && key === place) row.classList.add("here");
    }
    if (focus) {
      const again = document.getElementById(focus)
        || [...main.querySelectorAll("a[href]")].find((it) => it.getAttribute("href") === focus);
      if (again) again.focus({ preventScroll: true });
    }
  };
  document.addEventListener("focusout", () => setTimeout(() => { if (isStale) refresh(); }, 200));

  // --- What changes, as it does: one stream for each tab that is seen ---
  let events = null;
  const listen = () => {
    if (events || !isLive || document.hidden) return;
    events = new EventSource("/events");
    events.onopen = () => { live.textContent = "live"; };
    events.onerror = () => { live.textContent = "not connected"; };
    events.addEventListener("reload", refresh);
    let met = false;
    events.addEventListener("hello", () => { if (met) refresh(); met = true; });
    events.addEventListener("session", (event) => {
      const names = JSON.parse(event.data);
      if (session === null || names.includes("") || names.includes(session)) refresh();
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && events) {
      events.close();
      events = null;
    } else if (!document.hidden) {
      listen();
      refresh();
    }
  });
  addEventListener("pagehide", () => { if (events) events.close(); });
  addEventListener("pageshow", (event) => { if (event.persisted) { events = null; listen(); refresh(); } });
  listen();

  // --- Keys: each presses a button or follows a link that is there ---
  const rows = () => [...main.querySelectorAll(".row")].filter((row) => row.offsetParent !== null);
  const go = (all, step) => {
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("here"));
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)] || all[0];
    main.querySelectorAll(".here").forEach((row) => row.classList.remove("here"));
    next.classList.add("here");
    next.scrollIntoView({ block: "nearest" });
    const focus = next.querySelector("summary, a[href]");
    if (focus) focus.focus({ preventScroll: true });
  };
  const press = (button) => { if (button && !button.disabled) button.click(); };
  const keys = {
    "/": ["Search", () => {
      const search = document.getElementById("search");
      if (search) { search.focus(); search.select(); } else location.assign("/#search");
    }],
    j: ["Next row", () => go(rows(), 1)],
    k: ["Row before", () => go(rows(), -1)],
    Enter: ["Open the row", (event) => {
      const here = main.querySelector(".here");
      if (!here || event.target.closest("a, button, summary")) return false;
      if (here.tagName === "DETAILS") here.open = !here.open;
      else press(here.querySelector("a[href]"));
    }],
    Escape: ["Close, or go back", () => {
      const open = main.querySelector("details.here[open]");
      const up = main.querySelector(".crumbs a:last-of-type");
      if (open) open.open = false;
      else if (up) up.click();
    }],
    n: ["Next change", () => go(rows().filter((row) => row.matches(".cut, .step")), 1)],
    p: ["Change before", () => go(rows().filter((row) => row.matches(".cut, .step")), -1)],
    u: ["Undo the last compression", () => press(document.getElementById("do-undo"))],
    r: ["Redo", () => press(document.getElementById("do-redo"))],
    P: ["Pin the message, or take its pin out", () => {
      const at = document.activeElement;
      const near = at && at.closest("tr, details.here");
      const here = near || main.querySelector(".here");
      if (here) press(here.querySelector(".pin"));
    }],
    "?": ["These keys", () => showHelp()],
  };
  const showHelp = () => {
    let dialog = document.querySelector("dialog");
    if (!dialog) {
      dialog = document.createElement("dialog");
      const list = document.createElement("dl");
      for (const [key, [what]] of Object.entries(keys)) {
        const name = document.createElement("dt");
        const kbd = document.createElement("kbd");
        kbd.textContent = key === "Escape" ? "Esc" : key;
        name.append(kbd);
        const does = document.createElement("dd");
        does.textContent = what;
        list.append(name, does);
      }
      dialog.append(list);
      dialog.addEventListener("click", () => dialog.close());
      document.body.append(dialog);
    }
    if (!dialog.open) dialog.showModal();
  };
  if (help) {
    help.hidden = false;
    help.addEventListener("click", showHelp);
  }
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (at.closest("input, select, textarea, [contenteditable]")) {
      if (event.key === "Escape") at.blur();
      return;
    }
    const key = keys[event.key];
    if (key && key[1](event) !== false) event.preventDefault();
  });
})();
