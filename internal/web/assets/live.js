// Keeps the page as new as what the server sees. Without it everything is there,
// and a reload shows what is new.
"use strict";
(() => {
  const main = document.getElementById("main");
  const status = document.getElementById("live");
  let shown = document.body.dataset.revision, waiting = false, last = 0;

  // The ages beside times, as the server says them.
  const age = s => {
    s = Math.max(0, Math.floor(s));
    const two = n => String(n).padStart(2, "0");
    if (s >= 86400) return Math.floor(s / 86400) + "d" + Math.floor(s / 3600) % 24 + "h";
    if (s >= 3600) return Math.floor(s / 3600) + "h" + two(Math.floor(s / 60) % 60) + "m";
    if (s >= 60) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
    return s + "s";
  };
  const tick = () => {
    for (const t of main.querySelectorAll("time:not([data-fixed])")) {
      t.textContent = age((Date.now() - Date.parse(t.dateTime)) / 1000);
    }
  };

  // Who fills in the form, has selected text or reads a list further down keeps it.
  const busy = () => {
    const a = document.activeElement;
    return (a && main.contains(a) && /^(INPUT|SELECT)$/.test(a.tagName)) || !getSelection().isCollapsed;
  };
  const stops = () => [...main.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
  const open = () => [...main.querySelectorAll("details")].map(d => d.open);

  const refresh = async () => {
    if (waiting || document.hidden) return;
    waiting = true;
    const pause = Math.max(0, last + 1000 - Date.now());
    await new Promise(done => setTimeout(done, pause));
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("main");
      if (next && !busy()) {
        const opened = open();
        const here = document.activeElement, was = main.contains(here) && here !== main ? stops().indexOf(here) : -1;
        const href = was >= 0 && here.getAttribute("href");
        main.replaceChildren(...next.childNodes);
        main.querySelectorAll("details").forEach((d, i) => { d.open = !!opened[i]; });
        if (was >= 0) { // the keyboard stays where it was
          const all = stops(), same = all.filter(e => href && e.getAttribute("href") === href);
          const again = same.includes(all[was]) || !same.length ? all[Math.min(was, all.length - 1)] : same[0];
          if (again) again.focus({ preventScroll: true });
        }
        shown = page.body.dataset.revision;
        status.textContent = page.getElementById("live").textContent;
        document.title = page.title;
      }
    } catch (e) {
      status.textContent = "the server does not answer";
    }
    last = Date.now();
    waiting = false;
  };

  const listen = () => {
    const events = new EventSource("/events");
    events.addEventListener("revision", e => { if (e.data !== shown) refresh(); });
    events.onerror = () => {
      if (events.readyState === EventSource.CLOSED) { // enough listen already
        setTimeout(() => { refresh(); listen(); }, 10000);
      }
    };
  };
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", refresh);
  listen();
})();
