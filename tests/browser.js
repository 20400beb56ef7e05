// What a browser finds in the page: run in a copy of it, as the page itself has no script.
const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
const within = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const found = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth} px are wider than ${root.clientWidth}`);
for (const svg of document.querySelectorAll("svg")) {
  const title = svg.querySelector("title").textContent, frame = svg.getBoundingClientRect();
  if (!(frame.width > 100 && frame.height > 30)) found.push(`${title}: has no size`);
  if (!svg.querySelector("desc").textContent) found.push(`${title}: has no words`);
  const texts = [...svg.querySelectorAll("text")].map(text => ({ text: text.textContent, box: text.getBoundingClientRect() }));
  for (const one of texts) {
    if (!within(one.box, frame)) found.push(`${title}: ${one.text} is cut off`);
    for (const other of texts) {
      if (one !== other && !apart(one.box, other.box)) found.push(`${title}: ${one.text} covers ${other.text}`);
    }
  }
}
document.body.dataset.found = found.length + " faults; " + found.join("; ");
document.body.dataset.charts = document.querySelectorAll("svg").length;
