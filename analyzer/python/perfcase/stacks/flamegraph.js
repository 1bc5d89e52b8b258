// Zoom, search and keyboard of a flame graph. Without it the picture is complete, only still.
(function () {
  "use strict";
  const svg = document.currentScript.closest("svg");
  const status = svg.querySelector(".status");
  const CHAR = 7;
  // Frames come parents first: each knows its parent by its depth.
  const frames = [];
  const path = [];
  for (const box of svg.querySelectorAll("svg.f")) {
    const title = box.querySelector("title").textContent;
    const depth = +box.getAttribute("data-d");
    const frame = {
      box, title, depth, name: title.slice(0, title.lastIndexOf(" (")),
      text: box.querySelector("text"), rect: box.querySelector("rect"),
      x: parseFloat(box.getAttribute("x")), w: parseFloat(box.getAttribute("width")),
      parent: path[depth - 1] || null, children: [],
    };
    path[depth] = frame;
    if (frame.parent) frame.parent.children.push(frame);
    frames.push(frame);
  }
  if (!frames.length) return;
  let zoomed = frames[0];
  let current = frames[0];

  function label(frame, pixels) {
    const room = Math.floor((pixels - 6) / CHAR);
    if (room < 3) return "";
    return frame.name.length <= room ? frame.name : frame.name.slice(0, room - 2) + "..";
  }

  function isAbove(frame, other) {
    while (other && other.depth > frame.depth) other = other.parent;
    return other === frame;
  }

  function draw() {
    const whole = svg.getBoundingClientRect().width || 1200;
    for (const frame of frames) {
      const below = isAbove(frame, zoomed);
      const inside = below || isAbove(zoomed, frame);
      frame.box.style.display = inside ? "" : "none";
      if (!inside) continue;
      const x = below ? 0 : (frame.x - zoomed.x) * 100 / zoomed.w;
      const w = below ? 100 : Math.min(frame.w * 100 / zoomed.w, 100);
      frame.box.setAttribute("x", x + "%");
      frame.box.setAttribute("width", w + "%");
      frame.box.style.opacity = below && frame !== zoomed ? "0.5" : "";
      const text = label(frame, w * whole / 100);
      if (text && !frame.text) {
        frame.text = document.createElementNS(svg.namespaceURI, "text");
        frame.text.setAttribute("x", "3");
        frame.text.setAttribute("y", "12");
        frame.box.appendChild(frame.text);
      }
      if (frame.text) frame.text.textContent = text;
    }
  }

  function zoom(frame) {
    zoomed = frame;
    draw();
  }

  function go(frame) {
    if (!frame || frame.box.style.display === "none") return;
    current.box.removeAttribute("tabindex");
    current = frame;
    current.box.setAttribute("tabindex", "0");
    current.box.focus();
  }

  function beside(frame, step) {
    if (!frame.parent) return null;
    const row = frame.parent.children;
    return row[row.indexOf(frame) + step];
  }

  function find(words) {
    let pattern = null;
    if (words) {
      try {
        pattern = new RegExp(words, "i");
      } catch {
        pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      }
    }
    let number = 0;
    let share = 0;
    for (const frame of frames) {
      const hit = pattern !== null && frame.depth > 0 && pattern.test(frame.name);
      frame.rect.classList.toggle("hit", hit);
      frame.covered = hit || (frame.parent !== null && frame.parent.covered);
      if (hit) number += 1;
      // A frame below another that matches is in its width already.
      if (hit && !frame.parent.covered) share += frame.w;
    }
    status.textContent = pattern ? `${number} frames match, ${share.toFixed(2)} % of all` : "";
  }

  const field = document.createElementNS(svg.namespaceURI, "foreignObject");
  for (const [name, value] of [["x", "3"], ["y", svg.getAttribute("data-search-y")], ["width", "190"], ["height", "24"]]) {
    field.setAttribute(name, value);
  }
  const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
  input.setAttribute("type", "search");
  input.setAttribute("placeholder", "search (regular expression)");
  input.setAttribute("aria-label", "search for functions");
  input.setAttribute("class", "search");
  input.addEventListener("input", () => find(input.value));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.value = "";
      find("");
      go(current);
    }
  });
  field.appendChild(input);
  svg.appendChild(field);

  const byBox = new Map(frames.map((frame) => [frame.box, frame]));
  function frameOf(event) {
    return byBox.get(event.target.closest ? event.target.closest("svg.f") : null);
  }
  svg.addEventListener("click", (event) => {
    const frame = frameOf(event);
    if (!frame) return;
    zoom(frame);
    go(frame);
  });
  svg.addEventListener("mouseover", (event) => {
    const frame = frameOf(event);
    if (frame) status.textContent = frame.title;
  });
  svg.addEventListener("focusin", (event) => {
    const frame = frameOf(event);
    if (frame) status.textContent = frame.title;
  });
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const widest = current.children.reduce((best, child) => (!best || child.w > best.w ? child : best), null);
    const up = svg.classList.contains("icicle") ? "ArrowDown" : "ArrowUp";
    const down = up === "ArrowUp" ? "ArrowDown" : "ArrowUp";
    const keys = {
      [up]: () => go(widest),
      [down]: () => go(current.parent),
      ArrowLeft: () => go(beside(current, -1)),
      ArrowRight: () => go(beside(current, 1)),
      Enter: () => zoom(current),
      Escape: () => zoom(frames[0]),
      "/": () => input.focus(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  frames[0].box.setAttribute("tabindex", "0");
  window.addEventListener("resize", draw);
  draw();
  // The root is at the bottom: begin there.
  if (document.documentElement === svg && !svg.classList.contains("icicle")) {
    window.scrollTo(0, document.documentElement.getBoundingClientRect().height);
  }
})();
